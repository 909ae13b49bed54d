"""Vectors of pictures from a network of the user, an ONNX file run by ONNX Runtime."""

from __future__ import annotations

import difflib
import hashlib
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crlm.errors import InputError, MissingExtraError, ParameterError
from crlm.images import open_image
from crlm.onnx_file import layers, with_output

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
SIZE = 224
MARGIN = 256 / 224  # the shorter side, over the square that is cut from the middle
TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(uint8)": np.uint8}

Fit = Literal["crop", "stretch"]


class Network:
    """A trained network that takes a picture and gives a vector at one of its layers.

    Parameters
    ----------
    path : path
        An ONNX file with one input of shape (n, 3, h, w) or (n, h, w, 3).
    layer : str or None
        Name of the value to take; None takes the first output. A map of features, of shape (n,
        channels, h, w), is averaged over its places, and a list of tokens over the tokens.
    size : int or None
        Width and height of the square that goes in; None takes what the network says, or 224.
    mean, std : sequence of float
        Taken from each colour, and what it is divided by; pixels are from 0 to `white`.
    white : float, default=1
        Value of a white pixel before that: 1, or 255 for networks of the first years.
    fit : {"crop", "stretch"}
        "crop" takes the square in the middle, of which the shorter side is 8/7 times as long;
        "stretch" squeezes the whole picture into the square.
    batch : int, default=16
    threads : int or None
    """

    words = "a network"

    def __init__(
        self,
        path: Path,
        layer: str | None = None,
        *,
        size: int | None = None,
        mean: tuple[float, ...] = IMAGENET_MEAN,
        std: tuple[float, ...] = IMAGENET_STD,
        white: float = 1.0,
        fit: Fit = "crop",
        batch: int = 16,
        threads: int | None = None,
    ) -> None:
        content = _content(path)
        self._check_numbers(mean, std, white)
        self._session, self._output = _session(path, content, layer, threads)
        self._input = _only_input(self._session, path.name)
        self._channels_last, self.size = _geometry(self._input.shape, size, path.name)
        self._dtype = np.dtype(_dtype(self._input.type, path.name))
        fixed = self._input.shape[0]
        self._fixed = fixed if isinstance(fixed, int) and fixed > 0 else None
        self.batch = self._fixed or max(1, batch)
        self.mean, self.std = np.array(mean, np.float32), np.array(std, np.float32)
        self.white, self.fit, self.name = white, fit, path.name
        self.settings: dict[str, Any] = {
            "method": "onnx",
            "model": path.name,
            "sha256": hashlib.sha256(content).hexdigest(),
            "layer": self._output,
            "size": self.size,
            "mean": list(mean),
            "std": list(std),
            "white": white,
            "fit": fit,
        }

    @staticmethod
    def _check_numbers(mean: tuple[float, ...], std: tuple[float, ...], white: float) -> None:
        if len(mean) not in (1, 3) or len(std) not in (1, 3):
            msg = f"--mean and --std take one or three numbers, got {len(mean)} and {len(std)}."
            raise ParameterError(msg)
        if not all(np.isfinite([*mean, *std, white])) or min(*std, white) <= 0:
            msg = "--std and --white must be above 0, and --mean finite."
            raise ParameterError(msg)

    def prepare(self, path: Path) -> NDArray[Any]:
        """Read a picture and bring it to the size and the numbers of the network."""
        square = self._square(path)
        if self._dtype == np.uint8:
            values: NDArray[Any] = square
        else:
            values = (square * np.float32(self.white / 255.0) - self.mean) / self.std
        values = values if self._channels_last else values.transpose(2, 0, 1)
        return values.astype(self._dtype)

    def _square(self, path: Path) -> NDArray[np.uint8]:
        from PIL import Image

        size, how = (self.size, self.size), Image.Resampling.BILINEAR
        shorter = round(self.size * MARGIN)
        whole = open_image(path, at_least=2 * shorter)
        if self.fit == "stretch":
            return np.asarray(whole.resize(size, how))
        scale = shorter / min(whole.size)
        larger = whole.resize([max(1, round(side * scale)) for side in whole.size], how)
        left, top = (larger.width - self.size) // 2, (larger.height - self.size) // 2
        return np.asarray(larger.crop((left, top, left + self.size, top + self.size)))

    def vectors(self, pictures: NDArray[Any]) -> NDArray[np.float32]:
        """Run the network."""
        n = len(pictures)
        if self._fixed is not None and n < self._fixed:
            filler = np.repeat(pictures[:1], self._fixed - n, axis=0)
            pictures = np.concatenate([pictures, filler])
        try:
            (out,) = self._session.run([self._output], {self._input.name: pictures})
        except runtime_errors() as error:
            msg = f"{self.name} cannot be run: {_reason(error)}"
            raise InputError(msg) from error
        return _flat(np.asarray(out)[:n], self._output, self.name)

    def finish(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        """Nothing."""
        return X


def _flat(out: NDArray[Any], layer: str, name: str) -> NDArray[np.float32]:
    """One row for each picture: maps and tokens are averaged."""
    if out.ndim == 4:
        out = out.mean(axis=(2, 3))
    elif out.ndim == 3:
        out = out.mean(axis=1)
    if out.ndim != 2 or out.dtype.kind not in "fiu":
        msg = f"{name} gives {out.dtype} of shape {out.shape} at {layer!r}, not a vector each."
        raise InputError(msg)
    return np.asarray(out, dtype=np.float32)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        msg = f"no such file: {path}"
        raise InputError(msg) from error
    except OSError as error:
        msg = f"cannot read {path}: {error.strerror or error}"
        raise InputError(msg) from error


def _session(path: Path, content: bytes, layer: str | None, threads: int | None) -> tuple[Any, str]:
    """Open the network; the name of the value to take."""
    try:
        import onnxruntime as ort
    except ImportError as error:
        raise MissingExtraError("a network", package="onnxruntime", extra="images") from error
    options = ort.SessionOptions()
    options.log_severity_level = 4  # what it has to say comes as an error
    options.intra_op_num_threads = threads or 0
    # Large networks keep their weights in files beside them.
    folder = "session.model_external_initializers_file_folder_path"
    options.add_session_config_entry(folder, str(path.absolute().parent))
    names = _layers(content, path)
    if layer is not None and layer not in names:
        raise InputError(_no_layer(layer, names, path.name))
    try:
        session = ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        outputs = [output.name for output in session.get_outputs()]
        if layer is None or layer in outputs:
            return session, layer or outputs[0]
        more = with_output(content, layer)
        return ort.InferenceSession(more, options, providers=["CPUExecutionProvider"]), layer
    except runtime_errors() as error:
        msg = f"{path.name} is not a network that can be run: {_reason(error)}"
        raise InputError(msg) from error


def _layers(content: bytes, path: Path) -> list[str]:
    try:
        found = layers(content)
    except ValueError as error:
        msg = f"{path.name} is not a readable ONNX file ({error})."
        raise InputError(msg) from error
    if not found:
        msg = f"{path.name} is not an ONNX network: it has no layers."
        raise InputError(msg)
    return found


def _no_layer(layer: str, names: list[str], source: str) -> str:
    close = difflib.get_close_matches(layer, names, n=1)
    hint = f"Did you mean {close[0]}?" if close else f"The last ones: {', '.join(names[-6:])}."
    return f"{source} has no layer {layer!r}. {hint}"


def _only_input(session: Any, source: str) -> Any:
    inputs = session.get_inputs()
    if len(inputs) != 1 or len(inputs[0].shape) != 4:
        shapes = ", ".join(f"{item.name} {item.shape}" for item in inputs)
        msg = f"{source} takes {shapes or 'nothing'}; a network for images takes one of 4 sides."
        raise InputError(msg)
    return inputs[0]


def _geometry(shape: list[Any], size: int | None, source: str) -> tuple[bool, int]:
    """Whether colours come last, and how large the square is."""
    last = shape[3] == 3 and shape[1] != 3
    channels, sides = (shape[3], shape[1:3]) if last else (shape[1], shape[2:])
    if isinstance(channels, int) and channels != 3:
        msg = f"{source} takes pictures of {channels} channels; only colour, 3, is supported."
        raise InputError(msg)
    fixed = [side for side in sides if isinstance(side, int) and side > 0]
    if len(set(fixed)) > 1:
        msg = f"{source} takes pictures of {sides[0]} × {sides[1]}; only squares are supported."
        raise InputError(msg)
    if fixed and size not in (None, fixed[0]):
        msg = f"{source} takes pictures of {fixed[0]} × {fixed[0]}, not of --size {size}."
        raise ParameterError(msg)
    return last, fixed[0] if fixed else size or SIZE


def _dtype(kind: str, source: str) -> Any:
    if kind not in TYPES:
        msg = f"{source} takes {kind}; supported are {', '.join(TYPES)}."
        raise InputError(msg)
    return TYPES[kind]


def runtime_errors() -> tuple[type[Exception], ...]:
    """Everything that ONNX Runtime raises; its errors have no name in common."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    own = [v for v in vars(state).values() if isinstance(v, type) and issubclass(v, Exception)]
    return (*own, RuntimeError, ValueError)


def _reason(error: BaseException) -> str:
    text = str(error).splitlines() or [type(error).__name__]
    return text[0].removeprefix("[ONNXRuntimeError] : ")[:200]
