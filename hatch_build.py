"""Compile the inner loops of the search into the wheel, where there is a C compiler.

Where there is none the wheel is plain Python, and NumPy does the same work in more time.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

SEARCH = Path("src", "crlm", "search")
LIBRARY = SEARCH / "_kernel.so"
# The filter may round as it likes, its bound allows for that; distances must be NumPy's.
SOURCES = {"filter.c": "-ffp-contract=fast", "measure.c": "-ffp-contract=off"}


class KernelHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the compiled library to the wheel, and the platform to its name."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the files of the wheel are collected."""
        if compiled(Path(self.root)):
            build_data["artifacts"].append(str(LIBRARY))
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{next(platform_tags())}"
        else:
            self.app.display_warning("no C compiler: the wheel will be plain Python")

    def clean(self, versions: list[str]) -> None:
        """Remove what was compiled."""
        Path(self.root, LIBRARY).unlink(missing_ok=True)


def compiled(root: Path) -> bool:
    """Compile the library in place, if that can be done here."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    (root / LIBRARY).unlink(missing_ok=True)
    if compiler is None or sys.platform == "win32":
        return False
    # Vectors of eight: nearly all processors of this kind have them, and others are told apart
    # when the library is loaded.
    x86 = platform.machine() in ("x86_64", "AMD64")
    flags = ["-O3", "-fPIC", "-Wall", "-Wextra", *(["-mavx2", "-mfma"] if x86 else [])]
    with tempfile.TemporaryDirectory() as folder:
        objects = [str(Path(folder, source).with_suffix(".o")) for source in SOURCES]
        commands = [
            [compiler, *flags, rounding, "-c", str(root / SEARCH / source), "-o", out]
            for (source, rounding), out in zip(SOURCES.items(), objects, strict=True)
        ]
        library = str(Path(folder, LIBRARY.name))
        commands.append([compiler, "-shared", *objects, "-o", library])
        for command in commands:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.stderr.write(done.stderr)
                return False
        shutil.move(library, root / LIBRARY)
    return True
