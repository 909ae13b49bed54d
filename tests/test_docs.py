"""What the README says is run."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language):
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.S | re.M)
    return [text for name, text in fences if name == language]


def test_python_in_the_readme_runs_and_prints_what_it_says(capsys):
    (code,) = blocks("python")
    exec(code, {})
    out = capsys.readouterr().out
    assert "3 clusters" in out
    assert "\n1.0\n" in out


def test_every_command_in_the_readme_exists():
    from crlm.cli import main

    commands = set(re.findall(r"^crlm (\w+)", "\n".join(blocks("")), re.M))
    assert commands == {"fit", "sigma", "sample", "info", "check", "reproduce", "bench"}
    for command in commands:
        assert main([command, "--help"]) == 0


def test_every_make_target_in_the_readme_exists():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^make (\w+)", README, re.M):
        assert re.search(rf"^{target}:", makefile, re.M), target


def test_every_link_to_a_file_leads_to_one():
    for path in re.findall(r"\]\(([\w./]+)\)", README):
        assert (ROOT / path).exists(), path
