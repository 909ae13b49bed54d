"""As much of the ONNX format as is needed to look into a network at one of its layers.

An ONNX file is a Protocol Buffers message. Two such messages written one after the other are
read as one, in which lists are joined; so a network gets another output by some bytes at its
end, and nothing of it need be understood.
"""

from __future__ import annotations

from collections.abc import Iterator

MODEL_GRAPH, GRAPH_NODE, GRAPH_OUTPUT, NODE_OUTPUT, VALUE_NAME = 7, 1, 12, 2, 1
BYTES = 2  # the wire type of messages and text
_SIZES = {1: 8, 5: 4}  # of numbers with a fixed width, by wire type


def with_output(model: bytes, layer: str) -> bytes:
    """The same network with one more output, the value called `layer`."""
    value = _field(VALUE_NAME, layer.encode())
    return model + _field(MODEL_GRAPH, _field(GRAPH_OUTPUT, value))


def layers(model: bytes) -> list[str]:
    """Names of the values that the nodes compute, in their order.

    Raises
    ------
    ValueError
        The bytes are no such message.
    """
    return [
        bytes(name).decode("utf-8", "replace")
        for graph in _parts(memoryview(model), MODEL_GRAPH)
        for node in _parts(graph, GRAPH_NODE)
        for name in _parts(node, NODE_OUTPUT)
        if len(name)
    ]


def _parts(message: memoryview, wanted: int) -> Iterator[memoryview]:
    """Fields of one number that hold messages or text."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        kind = key & 7
        if kind == BYTES:
            size, place = _varint(message, place)
            if size > len(message) - place:
                raise ValueError("a field is longer than the file")
            if key >> 3 == wanted:
                yield message[place : place + size]
            place += size
        elif kind == 0:
            _, place = _varint(message, place)
        elif kind in _SIZES:
            place += _SIZES[kind]
        else:
            raise ValueError("not a Protocol Buffers message")


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    r"""Number in groups of seven bits, and the place after it.

    >>> _varint(memoryview(b"\xac\x02"), 0)
    (300, 2)
    """
    value = 0
    for i in range(10):
        if place + i >= len(message):
            break
        octet = message[place + i]
        value |= (octet & 127) << (7 * i)
        if octet < 128:
            return value, place + i + 1
    raise ValueError("a number does not end")


def _field(number: int, content: bytes) -> bytes:
    return _number(number << 3 | BYTES) + _number(len(content)) + content


def _number(value: int) -> bytes:
    r"""The other way round.

    >>> _number(300)
    b'\xac\x02'
    """
    octets = bytearray()
    while value > 127:
        octets.append(value & 127 | 128)
        value >>= 7
    return bytes([*octets, value])
