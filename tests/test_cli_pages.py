"""The pages of the command line say what the commands say."""

import importlib.util
import re
from importlib.metadata import version
from pathlib import Path

import click
import pytest

from crlm.cli import root

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "cli"


def made():
    spec = importlib.util.spec_from_file_location("make_pages", FOLDER / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.pages()


def test_every_command_has_a_page_and_no_other():
    pages = {path.stem for path in FOLDER.glob("*.md")} - {"README"}
    assert pages == set(root.commands), "run python docs/cli/make.py"


def test_every_page_is_what_help_says():
    pinned = re.search(r"^click==(\S+)$", (ROOT / "constraints.txt").read_text(), re.M)[1]
    if version("click") != pinned:
        pytest.skip(f"another click than {pinned} may set the lines otherwise")
    for name, text in made().items():
        assert (FOLDER / name).read_text() == text, "run python docs/cli/make.py"


def test_every_flag_is_on_its_page():
    for name, command in root.commands.items():
        text = (FOLDER / f"{name}.md").read_text()
        for param in command.params:
            if isinstance(param, click.Option):
                assert param.opts[-1] in text, (name, param.name)


def test_the_index_lists_every_command():
    text = (FOLDER / "README.md").read_text()
    listed = set(re.findall(r"^\| \[(\w+)\]\((?:\w+)\.md\)", text, re.M))
    assert listed == set(root.commands)
