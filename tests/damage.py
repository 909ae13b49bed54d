"""Files of every input format, and ways to damage them; the seeds are fixed."""

from __future__ import annotations

import io
import struct

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.feather as pf
import pyarrow.parquet as pq

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 5)).astype(np.float32)
NAMES = [f"row {i}" for i in range(24)]
TABLE = pa.table({"name": NAMES, "emb": pa.array(X.tolist(), pa.list_(pa.float32()))})
WIDE = pa.table({"name": NAMES, **{f"x{j}": X[:, j] for j in range(5)}})


def saved(write):
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def hdf5(**options):
    file = io.BytesIO()
    with h5py.File(file, "w") as archive:
        archive.create_dataset("deep/emb", data=X, **options)
        archive["names"] = NAMES
        archive["numbers"] = np.arange(24)
    return file.getvalue()


def text(separator):
    head = separator.join(["name", *(f"x{j}" for j in range(5))])
    lines = [separator.join([n, *map(str, row)]) for n, row in zip(NAMES, X, strict=True)]
    return "\n".join([head, *lines, ""]).encode()


def stream(table):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def feather(table, compression):
    return saved(lambda file: pf.write_feather(table, file, compression=compression))


# Suffix -> files that are whole, and how to read them
WHOLE = {
    ".npy": [
        (saved(lambda f: np.save(f, X)), {}),
        (saved(lambda f: np.save(f, np.asfortranarray(X.astype(">f8")))), {}),
    ],
    ".npz": [
        (saved(lambda f: np.savez(f, X=X, names=np.array(NAMES))), {}),
        (saved(lambda f: np.savez_compressed(f, X=X, names=np.array(NAMES))), {}),
    ],
    ".csv": [
        (text(","), {"roles": {"id": "name"}}),
        (saved(lambda f: np.savetxt(f, X, delimiter=",")), {}),
    ],
    ".tsv": [(text("\t"), {"roles": {"id": "name"}})],
    ".parquet": [
        (saved(lambda f: pq.write_table(TABLE, f)), {}),
        (saved(lambda f: pq.write_table(WIDE, f, compression="zstd")), {"columns": ["x0:x4"]}),
        (saved(lambda f: pq.write_table(WIDE, f, write_page_checksum=True)), {"columns": ["x1"]}),
    ],
    ".arrow": [
        (feather(TABLE, "uncompressed"), {}),
        (stream(WIDE), {"columns": ["x0:x4"]}),
    ],
    ".feather": [
        (feather(TABLE, "lz4"), {}),
        (feather(WIDE, "zstd"), {"columns": ["x0"]}),
    ],
    ".h5": [(hdf5(), {}), (hdf5(chunks=(6, 5), compression="gzip"), {})],
}


def damaged(whole: bytes, rng: np.random.Generator) -> bytes:
    """A copy with flipped bits, other bytes, pieces out or in, wild numbers, or an early end."""
    octets = bytearray(whole)
    for _ in range(rng.integers(1, 4)):
        WAYS[rng.integers(len(WAYS))](octets, rng)
    return bytes(octets)


def flip_bits(octets, rng):
    for place in rng.integers(0, len(octets) or 1, rng.integers(1, 9)):
        if place < len(octets):
            octets[place] ^= 1 << rng.integers(8)


def other_bytes(octets, rng):
    start = rng.integers(0, len(octets) + 1)
    size = int(rng.integers(1, 16))
    octets[start : start + size] = rng.bytes(size)


def cut_short(octets, rng):
    del octets[rng.integers(1, len(octets) + 2) :]


def cut_out(octets, rng):
    start = rng.integers(0, len(octets) + 1)
    del octets[start : start + rng.integers(1, 64)]


def put_in(octets, rng):
    start = rng.integers(0, len(octets) + 1)
    octets[start:start] = rng.bytes(int(rng.integers(1, 64)))


def wild_number(octets, rng):
    """Lengths and counts are numbers of 2, 4 or 8 bytes; make one large or negative."""
    kind = ["<H", "<i", "<q", ">i"][rng.integers(4)]
    low = {"<H": 0, "<i": -1, "<q": -1, ">i": -1}[kind]
    bits = 8 * struct.calcsize(kind) - (0 if kind == "<H" else 1)
    value = [low, 2**bits - 1, 2 ** (bits - 1), int(rng.integers(2 ** min(bits, 62)))][
        rng.integers(4)
    ]
    start = rng.integers(0, len(octets) + 1)
    octets[start : start + struct.calcsize(kind)] = struct.pack(kind, value)


def random_header(octets, rng):
    size = min(len(octets), 64)
    octets[:size] = rng.bytes(size)


def another_digit(octets, rng):
    """Shapes in .npy headers and numbers in text are digits."""
    digits = [i for i, octet in enumerate(octets[:4096]) if 48 <= octet < 58]
    if digits:
        octets[digits[rng.integers(len(digits))]] = 48 + int(rng.integers(10))


WAYS = (
    *(flip_bits, flip_bits, other_bytes, cut_short, cut_out, put_in),
    *(wild_number, wild_number, random_header, another_digit),
)
