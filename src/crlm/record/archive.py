"""Arrays and one JSON document in an uncompressed .npz, written whole, read without trust.

Members are stored, not compressed, and together no larger than the file, so that nothing in a
file can make a reader allocate more than the file's own size. Nothing is unpickled.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import tokenize
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from crlm.errors import InputError
from crlm.tables.arrays import HEADER_READERS, ZIP_ERRORS

DOCUMENT = "model.json"
FORMAT, VERSION = "crlm.model", 2  # the newest one that is read
_MAX_MEMBERS = 64
_KINDS = "iuf"  # whole numbers and floats; nothing else is ever needed

Arrays = dict[str, NDArray[Any]]


class DamagedError(ValueError):
    """What is wrong with a file, as the end of a sentence."""


def write_archive(file: IO[bytes], document: dict[str, Any], arrays: Arrays) -> None:
    """Write arrays and document, which has its version; equal ones give equal bytes."""
    head = {"format": FORMAT, **document}
    signed = {**head, "digest": digest(head, arrays)}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_member(DOCUMENT), json.dumps(signed, indent=1, allow_nan=False))
        for name, array in arrays.items():
            large = array.nbytes > 2**30
            with archive.open(_member(f"{name}.npy"), "w", force_zip64=large) as member:
                npy.write_array(member, array, allow_pickle=False)


def read_archive(path: Path) -> tuple[dict[str, Any], Arrays]:
    """Document and arrays of a file.

    Raises
    ------
    InputError
        The file is missing, damaged, of a newer format, or no model at all.
    """
    with _opened(path) as (archive, names):
        document = _read_document(archive)
        arrays = {
            name.removesuffix(".npy"): _read_array(archive, name)
            for name in names
            if name != DOCUMENT
        }
        signed = document.pop("digest", None)
        if signed != digest(document, arrays):
            raise DamagedError("its content was changed after it was written")
    return document, arrays


def read_document(path: Path) -> dict[str, Any]:
    """Document alone, which is quick however large the arrays are; raises as `read_archive`."""
    with _opened(path) as (archive, _):
        return _read_document(archive)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[zipfile.ZipFile, list[str]]]:
    """Archive and names of its members; whatever is wrong with it becomes a sentence."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive, _checked_members(archive, path.stat().st_size)
    except InputError:
        raise
    except DamagedError as error:
        raise unusable(path, error) from error
    except (*ZIP_ERRORS, NotImplementedError) as error:  # the last: zip features no model has
        if path.suffix != ".npz":
            msg = f"{path.name} is no model. If it holds data, make one of them with crlm fit."
            raise InputError(msg) from error
        raise unusable(path, "it is cut short or altered") from error
    except OSError as error:
        msg = f"cannot read {path}: {error.strerror or 'it is cut short or altered'}."
        raise InputError(msg) from error


def unusable(path: Path, why: object) -> InputError:
    """Say that a file is no model that can be used."""
    return InputError(f"{path.name} is not a usable model file: {why}. Copy it or fit again.")


def has_document(path: Path) -> bool:
    """Whether a file is a zip archive with a document of ours in it."""
    try:
        with zipfile.ZipFile(path) as archive:
            return DOCUMENT in archive.namelist()
    except (*ZIP_ERRORS, OSError, NotImplementedError):
        return False


def digest(document: dict[str, Any], arrays: Arrays) -> str:
    """Number that changes when anything does."""
    total = hashlib.sha256(json.dumps(document, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        total.update(f"{name} {array.dtype.str} {array.shape}".encode())
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()


def _member(name: str) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))


def _checked_members(archive: zipfile.ZipFile, size: int) -> list[str]:
    members = archive.infolist()
    names = [member.filename for member in members]
    if DOCUMENT not in names:
        msg = f"it has no {DOCUMENT}, so crlm did not write it"
        raise DamagedError(msg)
    if len(members) > _MAX_MEMBERS or len(set(names)) < len(names):
        raise DamagedError("it has more members than any model")
    if any(m.compress_type != zipfile.ZIP_STORED or m.flag_bits & 1 for m in members):
        raise DamagedError("it is compressed or locked, which no model of crlm is")
    if any(m.file_size != m.compress_size for m in members) or size < sum(
        m.file_size for m in members
    ):
        raise DamagedError("its members claim more bytes than it has")
    return names


def _read_document(archive: zipfile.ZipFile) -> dict[str, Any]:
    try:
        document = json.loads(archive.read(DOCUMENT))
    except (ValueError, RecursionError) as error:
        msg = f"its {DOCUMENT} is no JSON"
        raise DamagedError(msg) from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        msg = f"its {DOCUMENT} does not describe a model"
        raise DamagedError(msg)
    version = document.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        msg = f"its format version is {str(version)[:20]!r}"
        raise DamagedError(msg)
    if version > VERSION:
        msg = (
            f"{Path(str(archive.filename)).name} was written by a newer crlm (format {version}; "
            f"this one reads {VERSION}). Update crlm to use it."
        )
        raise InputError(msg)
    return document


def _read_array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """Array of a member whose header promises exactly the bytes that follow."""
    content = io.BytesIO(archive.read(name))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # NumPy warns of headers that it had to mend
            shape, fortran, dtype = HEADER_READERS[npy.read_magic(content)](content)
    except (
        *(ValueError, KeyError, TypeError, SyntaxError, tokenize.TokenError),
        *(UserWarning, RecursionError, MemoryError, OverflowError),
    ) as error:
        msg = f"{_short(name)} is not an array"
        raise DamagedError(msg) from error
    if dtype.kind not in _KINDS or dtype.hasobject:
        msg = f"{_short(name)} holds {dtype.kind!r}, not numbers"
        raise DamagedError(msg)
    left = content.getbuffer().nbytes - content.tell()
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != left:
        msg = f"{_short(name)} does not have the bytes that its header promises"
        raise DamagedError(msg)
    array = np.frombuffer(content.getbuffer(), dtype, offset=content.tell())
    return array.reshape(shape, order="F" if fortran else "C").astype(dtype.newbyteorder("="))


def _short(name: str) -> str:
    return repr(name[:40])
