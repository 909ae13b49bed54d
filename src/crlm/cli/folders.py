"""Pictures sorted into folders, one for each cluster."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from crlm.cli.common import count, say
from crlm.errors import InputError, OutputError

if TYPE_CHECKING:
    from crlm.cli.writing import Described
    from crlm.record import Source
    from crlm.tables import Table

MARK = ".crlm-export"  # in folders that are ours to replace


def is_folder(name: str) -> bool:
    """Whether the name of an output is that of a folder.

    >>> is_folder("out/"), is_folder("out"), is_folder("labels.csv"), is_folder("-")
    (True, True, False, False)
    """
    return name.endswith(("/", os.sep)) or (name != "-" and not Path(name).suffix)


def check_folder(path: Path, force: bool) -> None:
    """Refuse a folder that cannot be written, or that holds what is not ours."""
    target = path.resolve()
    if target.is_dir() and not any(target.iterdir()):
        return
    if target.exists() and not (target / MARK).is_file():
        msg = f"{path} exists, and crlm did not make it. Choose another name, or remove it."
        raise OutputError(msg)
    if target.exists() and not force:
        msg = f"{path} exists. Replace it with --force, or choose another name."
        raise OutputError(msg)
    if not target.parent.is_dir():
        msg = f"cannot write {path}: there is no folder {path.parent}. Make it: mkdir -p {path}"
        raise OutputError(msg)
    if not os.access(target.parent, os.W_OK | os.X_OK):
        msg = f"cannot write {path}: no permission to write in {target.parent}."
        raise OutputError(msg)


def write_folder(
    path: Path, described: Described, table: Table, found: Source, *, link: bool, background: bool
) -> int:
    """Copy or link the picture of each row to the folder of its cluster; return how many."""
    from crlm.tables import image_paths, replacing_folder

    images = None if found.path is None else image_paths(table, folder_of(found.path))
    if images is None:
        msg = (
            f"{found.name} names no pictures, so there is nothing to sort into {path}. Fit a "
            "folder of pictures, or name their column with --image when you fit."
        )
        raise InputError(msg)
    n, missing = 0, []
    with replacing_folder(path) as folder:
        (folder / MARK).write_text("made by crlm export; replaced by it with --force\n")
        for block in described.blocks():
            for row, label in zip(block["row"].tolist(), block["label"].tolist(), strict=True):
                if label < 0 and not background:
                    continue
                if not images[row].is_file():
                    missing.append(str(images[row]))
                    continue
                place(images[row], folder / folder_name(label), row, link=link)
                n += 1
        if missing and not n:
            msg = f"none of the pictures is there (first: {missing[0]}). Where did they go?"
            raise InputError(msg)
    if missing:
        gone = count(len(missing), "picture")
        say(f"warning: {gone} missing (first: {missing[0]})", err=True)
    return n


def folder_of(data: Path) -> Path:
    """Folder from which the pictures of a data file are named."""
    return data if data.is_dir() else data.parent


def folder_name(label: int) -> str:
    """Name of a cluster's folder, in the order of the clusters.

    >>> folder_name(7), folder_name(-1)
    ('cluster-007', 'background')
    """
    return "background" if label < 0 else f"cluster-{label:03d}"


def place(picture: Path, folder: Path, row: int, *, link: bool) -> None:
    """Copy or link one picture; one of a name that is taken gets its row number too."""
    folder.mkdir(exist_ok=True)
    target = folder / picture.name
    if target.exists() or target.is_symlink():
        target = folder / f"{picture.stem}-{row}{picture.suffix}"
    if link:
        target.symlink_to(picture.resolve())
    else:
        shutil.copy2(picture, target)
