"""``crlm completion``: the shell finishes commands, flags and file names."""

from __future__ import annotations

import click

from crlm.cli.common import say

LINES = {
    "fish": "crlm completion fish > ~/.config/fish/completions/crlm.fish",
    "bash": """echo 'eval "$(crlm completion bash)"' >> ~/.bashrc""",
    "zsh": """echo 'eval "$(crlm completion zsh)"' >> ~/.zshrc""",
}
EPILOG = "\b\nExamples:\n" + "\n".join(f"  {line}" for line in LINES.values())
VARIABLE = "_CRLM_COMPLETE"


@click.command(epilog=EPILOG)
@click.argument("shell", type=click.Choice(list(LINES)))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> int:
    """Print what makes SHELL finish crlm's commands, flags and file names.

    Run the line for your shell below once, then open a new shell.
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is None:  # click knows all three
        msg = f"no completion for {shell}."
        raise click.UsageError(msg)
    root = ctx.find_root()
    maker = kind(root.command, {}, "crlm", VARIABLE)
    # Not source(), which starts a shell only to ask how old it is.
    say((maker.source_template % maker.source_vars()).rstrip("\n"))
    return 0
