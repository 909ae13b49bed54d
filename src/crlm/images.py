"""Pictures in files, opened with care.

Pillow is imported when the first picture is opened. Whatever is wrong with a file is said in one
sentence that names it; nothing larger than Pillow's pixel limit is decoded, and only formats
that Pillow decodes by itself are tried (others would start programs, such as Ghostscript).
"""

from __future__ import annotations

import io
import os
import struct
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from crlm.errors import InputError

if TYPE_CHECKING:
    from PIL import Image

    Picture = Image.Image

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "PPM")
SUFFIXES = frozenset(
    {
        *(".jpg", ".jpeg", ".jpe", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff"),
        *(".ppm", ".pgm", ".pbm", ".pnm"),
    }
)

# What Pillow's decoders raise for damaged files, apart from the bomb that is caught by name
DECODE_ERRORS = (
    *(OSError, SyntaxError, ValueError, TypeError, LookupError, ArithmeticError),
    *(AttributeError, EOFError, struct.error, zlib.error, MemoryError, RuntimeError),
)

Source = str | os.PathLike[str] | NDArray[Any]


def list_images(folder: str | os.PathLike[str]) -> list[Path]:
    """Every picture in a folder and those below it, by suffix, in an order that never changes.

    Sorted by the path inside the folder, part by part. Hidden files are left out, and links to
    folders are not followed, so that there is no way to go round in a circle.
    """
    top, found = Path(folder), []

    def stop(error: OSError) -> None:  # at folders below it we pass by
        if isinstance(error, PermissionError) and Path(error.filename) == top:
            raise error

    for place, folders, files in os.walk(top, onerror=stop):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(place, name) for name in files if is_image(name)]
    return sorted(found, key=lambda path: path.relative_to(top).parts)


def is_image(name: str | os.PathLike[str]) -> bool:
    """Whether a file of this name is taken for a picture.

    >>> is_image("face.JPG"), is_image("labels.csv"), is_image("._face.jpg")
    (True, False, False)
    """
    path = Path(name)
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".")


def open_image(path: str | os.PathLike[str], *, at_least: int | None = None) -> Picture:
    """Decode a picture to RGB, the right way up.

    Parameters
    ----------
    path : path-like
    at_least : int or None
        When a smaller picture is enough, its shorter side. A JPEG is then decoded at a half, a
        quarter or an eighth, which is several times as fast.

    Raises
    ------
    InputError
        The file is missing, no picture, damaged, or above Pillow's pixel limit.
    """
    from PIL import Image, UnidentifiedImageError

    path = Path(path)
    try:
        with Image.open(path, formats=FORMATS) as image:
            _refuse_huge(image.size, path)
            if at_least is not None:
                image.draft("RGB", (at_least, at_least))
            return _upright_rgb(image)
    except InputError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise _too_large(path, str(error)) from error
    except FileNotFoundError as error:
        msg = f"no such image: {path}"
        raise InputError(msg) from error
    except UnidentifiedImageError as error:
        msg = f"{path} is not an image that can be read ({', '.join(FORMATS)})."
        raise InputError(msg) from error
    except DECODE_ERRORS as error:
        msg = f"{path} is not a readable image ({_reason(error)}). Copy or save it again."
        raise InputError(msg) from error


def as_image(pixels: NDArray[Any]) -> Picture:
    """Picture of an array of shape (h, w), (h, w, 3) or (h, w, 4).

    Whole numbers are 0 to 255, fractions 0 to 1; truth values are black and white.
    """
    from PIL import Image

    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] not in (3, 4)):
        msg = f"an image has shape (h, w), (h, w, 3) or (h, w, 4), not {pixels.shape}."
        raise InputError(msg)
    if 0 in pixels.shape:
        msg = f"an image of shape {pixels.shape} has no pixels."
        raise InputError(msg)
    if pixels.dtype.kind not in "biuf":
        msg = f"an image holds numbers, not {pixels.dtype}."
        raise InputError(msg)
    scale = 255.0 if pixels.dtype.kind in "fb" else 1.0
    values = np.nan_to_num(pixels.astype(np.float64), nan=0.0)
    octets = np.rint(np.clip(values * scale, 0, 255)).astype(np.uint8)
    return _on_white(Image.fromarray(octets))


def thumbnail(
    source: Source, size: int = 96, *, format: Literal["PNG", "JPEG", "WEBP"] = "JPEG"
) -> bytes:
    """Encode a small picture, at most `size` pixels wide and high, in the shape of the original.

    Equal pictures give equal bytes. A picture that is smaller than `size` is left as it is.

    Raises
    ------
    InputError
        The file is no readable picture, or the array is none.
    """
    image = _picture(source, 2 * size)
    image.thumbnail((size, size))
    file = io.BytesIO()
    image.save(file, format)
    return file.getvalue()


def pixels(source: Source, size: int, *, grey: bool = False) -> NDArray[np.uint8]:
    """A picture stretched to a square of `size`, of shape (size, size, 3), or without 3 if grey.

    Stretched, not cut: nothing at the border is lost, and a tall picture looks wide.
    """
    from PIL import Image

    image = _picture(source, 2 * size)
    image = image.convert("L") if grey else image
    return np.asarray(image.resize((size, size), Image.Resampling.BICUBIC))


def padded(source: Source, size: int) -> NDArray[np.uint8]:
    """A picture as large as fits into a white square, of shape (size, size, 3)."""
    from PIL import Image, ImageOps

    whole = _picture(source, 2 * size)
    return np.asarray(ImageOps.pad(whole, (size, size), Image.Resampling.BICUBIC, color="white"))


def _picture(source: Source, at_least: int) -> Picture:
    if isinstance(source, np.ndarray):
        return as_image(source)
    return open_image(source, at_least=at_least)


def _upright_rgb(image: Picture) -> Picture:
    """Turn as the camera says; lay what is transparent on white; bring deep greys to 8 bits."""
    from PIL import Image, ImageOps

    try:
        upright = ImageOps.exif_transpose(image)
    except DECODE_ERRORS:  # what the camera says is damaged; the picture need not be
        upright = image
    if upright.mode.startswith("I") or upright.mode == "F":
        deep = np.asarray(upright, dtype=np.float64)
        high = _white(upright.mode, deep)
        octets = np.clip(np.nan_to_num(deep) * (255.0 / high), 0, 255)
        upright = Image.fromarray(np.rint(octets).astype(np.uint8))
    return _on_white(upright)


def _white(mode: str, deep: NDArray[np.float64]) -> float:
    """Brightest value of a mode with more than 8 bits; what has no limit is as bright as it is."""
    if mode.startswith("I;16"):
        return 65535.0
    brightest = float(np.nan_to_num(deep, posinf=0.0, neginf=0.0).max())
    if mode == "I":
        return 65535.0 if 255 < brightest <= 65535 else max(255.0, brightest)
    return brightest if brightest > 0 else 1.0


def _on_white(image: Picture) -> Picture:
    from PIL import Image

    if not image.has_transparency_data:
        return image.convert("RGB")
    layer = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer).convert("RGB")


def _refuse_huge(size: tuple[int, int], path: Path) -> None:
    """Refuse from the limit on, where Pillow itself only warns, and from twice that on refuses."""
    from PIL import Image

    limit = Image.MAX_IMAGE_PIXELS
    if limit is not None and size[0] * size[1] > limit:
        raise _too_large(path, f"{size[0]:,} × {size[1]:,} pixels, the limit is {limit:,}")


def _too_large(path: Path, detail: str) -> InputError:
    return InputError(f"{path} is too large to open safely ({detail}). Save a smaller copy.")


def _reason(error: BaseException) -> str:
    """First line of what the decoder says, without the name, which is said already."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return (str(error).splitlines() or [type(error).__name__])[0][:120]
