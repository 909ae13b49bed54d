"""A table for Embedding Atlas: every row with its vector, its place on a map and its cluster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from crlm.cli.writing import Described
    from crlm.record import Source
    from crlm.tables import Block, Table


OURS = ("cluster", "x", "y", "vector")


def is_atlas(path: Path) -> bool:
    """Whether a name asks for a table for Embedding Atlas.

    >>> is_atlas(Path("faces-atlas.parquet")), is_atlas(Path("labels.parquet"))
    (True, False)
    """
    return path.name.lower().endswith("atlas.parquet")


def atlas_job(described: Described, table: Table, found: Source) -> Callable[[IO[bytes]], None]:
    """Function that writes the table to an open file."""
    from crlm.tables import write_parquet

    def write(file: IO[bytes]) -> None:
        axes = principal_axes(found, table)
        blocks = (_with_map(block, axes, found, table) for block in described.blocks())
        write_parquet(file, blocks, described.n_rows)

    return write


def _with_map(
    block: Block, axes: tuple[NDArray[Any], NDArray[Any]], found: Source, table: Table
) -> Block:
    import numpy as np

    start, stop = int(block["row"][0]), int(block["row"][-1]) + 1
    X = found.transform.apply(table.X[start:stop])
    middle, directions = axes
    x, y = ((X - middle) @ directions).T
    clusters = ["background" if j < 0 else f"cluster {j}" for j in block["label"].tolist()]
    taken = {*block, *OURS, table.roles.get("id")}
    others = {name: table.kept[name][start:stop] for name in table.kept if name not in taken}
    vector = X.astype(np.float32, copy=False)
    return {**block, "cluster": clusters, **others, "x": x, "y": y, "vector": vector}


def principal_axes(found: Source, table: Table) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Middle of the rows and the two directions in which they vary most, block by block."""
    import numpy as np

    d = table.X.shape[1]
    total, outer, n = np.zeros(d), np.zeros((d, d)), 0
    for _, block in found.blocks(table):
        good = block[np.isfinite(block).all(axis=1)].astype(np.float64)
        total += good.sum(axis=0)
        outer += good.T @ good
        n += len(good)
    middle = total / n
    _, vectors = np.linalg.eigh(outer / n - np.outer(middle, middle))
    top = vectors[:, ::-1][:, :2]
    if d == 1:
        top = np.column_stack([top, np.zeros(1)])
    # The sign of a direction is arbitrary; this one is the same on every machine.
    signs = np.sign(top[np.abs(top).argmax(axis=0), [0, 1]])
    return middle, top * np.where(signs == 0.0, 1.0, signs)
