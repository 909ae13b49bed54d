"""Damaged files: 2,000 of each format end in numbers or in one sentence, never in a crash."""

from __future__ import annotations

import io
import resource
import warnings
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crlm.errors import CRLMError, InputError, MemoryLimitError
from crlm.tables import hdf5 as hdf5_tables
from crlm.tables import read_table
from damage import NAMES, WHOLE, X, damaged, hdf5

PER_FORMAT = 2_000
ROOM = 2**30  # bytes of address space above what is taken already


@pytest.fixture
def _little_room():
    """Fail an allocation that a damaged length asks for, instead of getting away with it."""
    taken = resource.getpagesize() * int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (taken + ROOM, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize("suffix", WHOLE)
def test_whole_files_give_the_same_numbers(tmp_path, suffix):
    path = tmp_path / f"x{suffix}"
    for content, how in WHOLE[suffix]:
        path.unlink(missing_ok=True)
        path.write_bytes(content)
        table = read_table(path, **how)
        whole = X if table.X.shape[1] == 5 else X[:, :1] if "x0" in how["columns"] else X[:, 1:2]
        np.testing.assert_allclose(table.X, whole, rtol=1e-6)
        if table.roles:
            assert table.kept[table.roles["id"]] == NAMES


@pytest.mark.usefixtures("_little_room")
@pytest.mark.parametrize("suffix", WHOLE)
def test_damaged_files_end_in_numbers_or_in_a_sentence(tmp_path, suffix):
    read, refused = 0, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ours, about columns that number the rows and the like
        for seed, (whole, how) in enumerate(WHOLE[suffix]):
            rng = np.random.default_rng(seed)
            for i in range(-(-PER_FORMAT // len(WHOLE[suffix]))):
                path = tmp_path / f"{i}{suffix}"  # a new one: an old one may still be mapped
                path.write_bytes(damaged(whole, rng))
                try:
                    table = read_table(path, **how)
                    assert np.asarray(table.X).ndim == 2
                    assert table.X.nbytes < 10**6
                    read += 1
                except CRLMError as error:
                    refused.append((path.name, str(error)))
                path.unlink()
    assert read + len(refused) >= PER_FORMAT
    assert len(refused) > PER_FORMAT // 2  # the damage is real
    for name, said in refused:
        assert name in said, said
        assert "\n" not in said, said
        assert len(said) < 500, said


@pytest.mark.usefixtures("_little_room")
def test_columns_beside_the_numbers_of_damaged_files_end_in_a_sentence_too(tmp_path):
    refused = 0
    for suffix in (".npz", ".csv", ".parquet", ".arrow"):
        whole, how = WHOLE[suffix][0]
        rng = np.random.default_rng(99)
        for i in range(300):
            path = tmp_path / f"{i}{suffix}"
            path.write_bytes(damaged(whole, rng))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    table = read_table(path, **how)
                    for name in table.kept:
                        assert len(table.kept[name]) == len(table.X)
                except CRLMError:
                    refused += 1
    assert refused > 600


# Files made to ask for much


def test_archive_that_unpacks_to_far_more_than_it_holds_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("crlm.checks._free_memory", lambda: 10**8)
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f8", "fortran_order": False, "shape": (10**4, 1500)}
    )
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", head.getvalue() + bytes(8 * 15 * 10**6))
    assert (tmp_path / "x.npz").stat().st_size < 200_000
    with pytest.raises(MemoryLimitError, match=r"x\.npz\[X\] takes 0\.1 GB of memory, over half"):
        read_table(tmp_path / "x.npz")


def test_hdf5_that_promises_what_was_never_written_is_refused(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("X", shape=(10**9, 100), chunks=(1000, 100), dtype="f8")
    with pytest.raises(InputError, match=r"x\.h5\[X\] is damaged: it claims to hold 800,000,000"):
        read_table(tmp_path / "x.h5")


def test_parquet_of_a_billion_equal_rows_is_refused(tmp_path, monkeypatch):
    schema = pa.schema([("x", pa.int8())])
    with pq.ParquetWriter(tmp_path / "x.parquet", schema) as writer:
        batch = pa.table({"x": pa.array(np.zeros(10**6, np.int8))})
        for _ in range(12):
            writer.write_table(batch)
    monkeypatch.setattr("crlm.tables.limits.MOST", 100)
    with pytest.raises(InputError, match=r"x\.parquet is damaged: it claims to hold 96,000,000"):
        read_table(tmp_path / "x.parquet")


def test_hdf5_that_points_into_other_files_is_refused(tmp_path):
    (tmp_path / "secret").write_bytes(bytes(64))
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("X", (4, 2), "f8", external=[(str(tmp_path / "secret"), 0, 64)])
        file["other"] = h5py.ExternalLink(str(tmp_path / "x.h5"), "/X")
    with pytest.raises(InputError, match=r"x\.h5\[X\] is kept in other files"):
        read_table(tmp_path / "x.h5")


def test_text_in_damaged_hdf5_cannot_hang(tmp_path, monkeypatch):
    (tmp_path / "x.h5").write_bytes(hdf5())
    kept = read_table(tmp_path / "x.h5").kept
    assert kept["names"] == NAMES
    assert kept["numbers"] == list(range(24))
    monkeypatch.setattr(hdf5_tables, "READ_TEXT", "while True: pass")
    monkeypatch.setattr(hdf5_tables, "SECONDS", 0.5)
    with pytest.raises(InputError, match=r"x\.h5\[names\] is not readable text"):
        read_table(tmp_path / "x.h5").kept["names"]


def test_first_version_of_feather_is_refused(tmp_path):
    (tmp_path / "x.feather").write_bytes(b"FEA1" + bytes(60) + b"FEA1")
    with pytest.raises(InputError, match=r"x\.feather is in version 1 of feather"):
        read_table(tmp_path / "x.feather")
