"""Write a page for each command from its --help.

Run: python docs/cli/make.py; tests/test_cli_pages.py fails when a page is not what this writes.
"""

from __future__ import annotations

import re
from pathlib import Path

import click

from crlm.cli import root

HERE = Path(__file__).parent
WIDTH = 90


def pages() -> dict[str, str]:
    """Name of each page and its text."""
    return {f"{name}.md": page(name) for name in sorted(root.commands)}


def page(name: str) -> str:
    """Page of one command."""
    command = root.commands[name]
    parent = click.Context(root, info_name="crlm", help_option_names=["-h", "--help"])
    context = click.Context(
        command, info_name=name, parent=parent, terminal_width=WIDTH, max_content_width=WIDTH
    )
    help_text = re.sub(r"[ \t]+$", "", command.get_help(context), flags=re.M).rstrip()
    return f"# crlm {name}\n\n```\n{help_text}\n```\n\n[All commands](README.md)\n"


def main() -> None:
    """Write all pages, and remove those of commands that are gone."""
    for path in HERE.glob("*.md"):
        if path.name != "README.md":
            path.unlink()
    for name, text in pages().items():
        (HERE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
