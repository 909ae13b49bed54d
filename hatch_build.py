"""Compile the inner loops of the search into the wheel, where there is a C compiler.

Where there is none the wheel is plain Python, and NumPy does the same work in more time.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

SEARCH = Path("src", "crlm", "search")
LIBRARY = SEARCH / "_kernel.so"
# The filter may round as it likes, its bound allows for that; distances must be NumPy's.
SOURCES = {"filter.c": "-ffp-contract=fast", "measure.c": "-ffp-contract=off"}
NAMES = sorted([*SOURCES, "kernel.h", "loop.h"])  # as in kernel.py


class KernelHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the compiled library to the wheel, and the platform to its name."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the files of the wheel are collected."""
        try:
            compile_library(Path(self.root))
        except (OSError, subprocess.CalledProcessError) as error:
            why = getattr(error, "stderr", None) or error
            self.app.display_warning(f"plain Python, for nothing was compiled: {why}")
            return
        build_data["artifacts"].append(str(LIBRARY))
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{next(platform_tags())}"

    def clean(self, versions: list[str]) -> None:
        """Remove what was compiled."""
        Path(self.root, LIBRARY).unlink(missing_ok=True)


def compile_library(root: Path) -> None:
    """Compile the library in place; OSError or CalledProcessError if that cannot be done here."""
    (root / LIBRARY).unlink(missing_ok=True)
    if sys.platform == "win32":
        raise OSError("there is no way for Windows yet")
    compiler = shlex.split(os.environ.get("CC") or "cc")
    # Vectors of eight: nearly all processors of this kind have them, and others are told apart
    # when the library is loaded.
    vectors = ["-mavx2", "-mfma"] if platform.machine().lower() in ("x86_64", "amd64") else []
    stands_for = zlib.crc32(b"".join((root / SEARCH / name).read_bytes() for name in NAMES))
    flags = ["-O3", "-fPIC", "-Wall", "-Wextra", *vectors, f"-DCRLM_SOURCES={stands_for}"]
    with tempfile.TemporaryDirectory() as folder:
        objects = []
        for source, rounding in SOURCES.items():
            objects.append(str(Path(folder, source).with_suffix(".o")))
            path = str(root / SEARCH / source)
            run([*compiler, *flags, rounding, "-c", path, "-o", objects[-1]])
        library = str(Path(folder, LIBRARY.name))
        run([*compiler, "-shared", *objects, "-o", library])
        shutil.move(library, root / LIBRARY)


def run(command: list[str]) -> None:
    """Run a command; what it says is told only if it fails."""
    subprocess.run(command, capture_output=True, text=True, check=True)
