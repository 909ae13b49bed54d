"""Every format round trip, every complaint in its words, no file half written."""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import os
import re
import resource
import shlex
import stat
import struct
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crlm import tables
from crlm.cli.common import comma_list
from crlm.errors import (
    CRLMWarning,
    DiskFullError,
    InputError,
    MissingExtraError,
    OutputError,
)
from crlm.tables import (
    check_writable,
    common,
    invalid_rows,
    read_table,
    replacing,
    write_labels,
    write_together,
    zero_rows,
)

X = np.arange(12.0).reshape(4, 3) / 8
LABELS = np.array([0, -1, 1, -1])


# Reading what others wrote


def by_numpy_npy(path):
    np.save(path, X)


def by_numpy_fortran(path):
    np.save(path, np.asfortranarray(X))


def by_numpy_big_endian(path):
    with path.open("wb") as file:  # given a name, NumPy would append ".npy"
        np.save(file, X.astype(">f4"))


def by_numpy_npz(path):
    np.savez(path, X=X, y=LABELS)


def by_numpy_compressed(path):
    np.savez_compressed(path, X=X)


def by_numpy_text(path):
    np.savetxt(path, X, delimiter=",")


def by_numpy_tsv(path):
    np.savetxt(path, X, delimiter="\t", header="a\tb\tc", comments="")


def by_pandas_csv(path):
    pd.DataFrame(X, columns=list("abc")).to_csv(path, index=False)


def by_pandas_csv_with_counted_header(path):
    pd.DataFrame(X).to_csv(path, index=False)


def by_excel(path):
    path.write_text("﻿a,b,c\r\n" + "".join(f'"{a}",{b},{c}\r\n' for a, b, c in X), "utf-8")


def by_polars_csv(path):
    pl.DataFrame(X).write_csv(path)


def by_pandas_parquet(path):
    pd.DataFrame(X, columns=list("abc")).to_parquet(path)


def by_pandas_parquet_with_index(path):
    pd.DataFrame(X, columns=list("abc"), index=list("wxyz")).to_parquet(path)


def by_pandas_lists(path):
    pd.DataFrame({"name": list("wxyz"), "emb": list(X)}).to_parquet(path)


def by_polars_parquet(path):
    pl.DataFrame(X).write_parquet(path)


def by_polars_lists(path):
    pl.DataFrame({"id": range(4), "emb": X.tolist()}).write_parquet(path)


def by_polars_arrays(path):
    frame = pl.DataFrame({"emb": X.tolist()}, schema={"emb": pl.Array(pl.Float32, 3)})
    frame.write_parquet(path)


def by_pyarrow_in_chunks(path):
    column = pa.array(X.tolist(), pa.list_(pa.float64(), 3))
    pq.write_table(pa.table({"emb": column}), path, row_group_size=1)


WRITERS = [
    (by_numpy_npy, ".npy"),
    (by_numpy_fortran, ".npy"),
    (by_numpy_big_endian, ".NPY"),
    (by_numpy_npz, ".npz"),
    (by_numpy_compressed, ".npz"),
    (by_numpy_text, ".csv"),
    (by_numpy_tsv, ".tsv"),
    (by_pandas_csv, ".csv"),
    (by_pandas_csv_with_counted_header, ".csv"),
    (by_excel, ".csv"),
    (by_polars_csv, ".csv"),
    (by_pandas_parquet, ".parquet"),
    (by_pandas_parquet_with_index, ".parquet"),
    (by_pandas_lists, ".parquet"),
    (by_polars_parquet, ".parquet"),
    (by_polars_lists, ".parquet"),
    (by_polars_arrays, ".parquet"),
    (by_pyarrow_in_chunks, ".parquet"),
]


@pytest.mark.parametrize(("write", "suffix"), WRITERS, ids=lambda v: getattr(v, "__name__", v))
def test_reads_back_what_was_written(tmp_path, write, suffix):
    path = tmp_path / f"data{suffix}"
    write(path)
    table = read_table(path)
    np.testing.assert_array_equal(table.X, X)
    assert table.source == path.name


def test_npy_is_mapped_and_read_only(tmp_path):
    by_numpy_npy(tmp_path / "x.npy")
    X = read_table(tmp_path / "x.npy").X
    assert isinstance(X, np.memmap)
    assert not X.flags.writeable


def test_names_of_columns_come_along(tmp_path):
    by_pandas_csv(tmp_path / "x.csv")
    by_pandas_parquet(tmp_path / "x.parquet")
    by_numpy_text(tmp_path / "bare.csv")
    assert read_table(tmp_path / "x.csv").columns == ["a", "b", "c"]
    assert read_table(tmp_path / "x.parquet").columns == ["a", "b", "c"]
    assert read_table(tmp_path / "bare.csv").columns is None


def test_row_index_of_pandas_is_left_out_and_said(tmp_path):
    pd.DataFrame(X, columns=list("abc"), index=[7, 3, 5, 9]).to_csv(tmp_path / "x.csv")
    with pytest.warns(CRLMWarning, match=r"x\.csv: left out the first column; it has no name"):
        table = read_table(tmp_path / "x.csv")
    np.testing.assert_array_equal(table.X, X)
    assert table.columns == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["id", "ID", "index", "row", "Unnamed: 0"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_row_numbers_with_a_name_are_warned_of(tmp_path, name, suffix):
    frame = pd.DataFrame(X, columns=list("abc"))
    frame.insert(1, name, [7, 3, 5, 9])
    path = tmp_path / f"x{suffix}"
    frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    words = (
        f"x{suffix}: column {name!r} seems to number the rows, but is used as a coordinate. "
        "Leave it out: --columns a,b,c"
    )
    with pytest.warns(CRLMWarning, match=f"^{re.escape(words)}$"):
        assert read_table(path).X.shape == (4, 4)
    assert read_table(path, columns=["a", name]).X.shape == (4, 2)  # asked for: no warning
    frame[name] = [1, 2, 3, 3]
    frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    assert read_table(path).X.shape == (4, 4)  # not distinct: no warning
    path = tmp_path / f"y{suffix}"
    frame = pd.DataFrame({name: [1, 2, 3]})
    frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    assert read_table(path).X.shape == (3, 1)  # nothing else to take: no warning


def test_first_line_that_counts_is_data_unless_it_is_said_to_be_a_header(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("2020,2021,2022\n0.5,3,1\n7,inf,inf\n")
    words = (
        r"^x\.csv: the first line \(2020, 2021, 2022\) was read as data\. If it names the "
        r"columns, say --header; if not, --no-header$"
    )
    with pytest.warns(CRLMWarning, match=words):
        assert read_table(path).X.shape == (3, 3)
    assert read_table(path, header=False).X.tolist()[0] == [2020, 2021, 2022]
    table = read_table(path, header=True)
    assert table.columns == ["2020", "2021", "2022"]
    assert table.X.tolist() == [[0.5, 3, 1], [7, np.inf, np.inf]]


@pytest.mark.parametrize("text", ["2020,2021\n", "1,2\n3,4\n0.5,3\n", "1,2.0\n4,3\n", "5\n2\n"])
def test_first_line_like_the_others_is_data(tmp_path, text):
    (tmp_path / "x.csv").write_text(text)
    assert len(read_table(tmp_path / "x.csv").X) == len(text.splitlines())


def test_header_is_for_text_files(tmp_path):
    by_numpy_npy(tmp_path / "x.npy")
    with pytest.raises(
        InputError, match=r"^--no-header is about \.csv and \.tsv files, but x\.npy"
    ):
        read_table(tmp_path / "x.npy", header=False)
    (tmp_path / "x.csv").write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(InputError, match=r"line 1: 'a' is not a number"):
        read_table(tmp_path / "x.csv", header=False)


@pytest.mark.parametrize("write", [by_pandas_lists, by_polars_lists])
def test_columns_beside_the_vectors_are_named(tmp_path, write):
    write(tmp_path / "x.parquet")
    table = read_table(tmp_path / "x.parquet")
    other = "name" if write is by_pandas_lists else "id"
    assert (table.columns, table.vector) == (None, "emb")
    assert table.notes == (
        f"x.parquet: the rows are the vectors of column 'emb'; left out '{other}'",
    )
    assert read_table(tmp_path / "x.parquet", columns=["emb"]).notes == ()


def test_unnamed_column_that_is_no_index_stays(tmp_path):
    (tmp_path / "x.csv").write_text(",b\n0.5,2\n0.5,4\n")
    assert read_table(tmp_path / "x.csv").X.tolist() == [[0.5, 2], [0.5, 4]]


@pytest.mark.parametrize(
    ("write", "suffix", "columns", "places"),
    [
        (by_pandas_csv, ".csv", ["c", "a"], [2, 0]),
        (by_pandas_csv, ".csv", ["a:c"], [0, 1, 2]),
        (by_numpy_text, ".csv", ["2", "0"], [2, 0]),
        (by_numpy_npy, ".npy", ["1:2"], [1, 2]),
        (by_numpy_npz, ".npz", ["0"], [0]),
        (by_pandas_parquet, ".parquet", ["b", "c"], [1, 2]),
        (by_polars_lists, ".parquet", ["emb"], [0, 1, 2]),
    ],
)
def test_columns_are_picked_by_name_or_number(tmp_path, write, suffix, columns, places):
    path = tmp_path / f"x{suffix}"
    write(path)
    np.testing.assert_array_equal(read_table(path, columns=columns).X, X[:, places])


def test_key_picks_an_array_of_npz(tmp_path):
    np.savez(tmp_path / "x.npz", A=X, B=2 * X)
    np.testing.assert_array_equal(read_table(tmp_path / "x.npz", key="B").X, 2 * X)


@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
def test_truth_values_count_as_numbers(tmp_path, suffix):
    if suffix == ".npy":
        np.save(tmp_path / "x.npy", X > 0.5)
    else:
        pd.DataFrame(X > 0.5, columns=list("abc")).to_parquet(tmp_path / "x.parquet")
    read = read_table(tmp_path / f"x{suffix}").X
    assert read.dtype == np.uint8
    np.testing.assert_array_equal(read, X > 0.5)


def test_empty_cells_are_nan(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,\n,2\nNA,3\n4,nan\n5,6\n")
    table = read_table(tmp_path / "x.csv")
    assert invalid_rows(table.X).tolist() == [0, 1, 2, 3]
    assert table.X[4].tolist() == [5, 6]


def test_missing_values_of_parquet_are_nan(tmp_path):
    pq.write_table(pa.table({"a": [1, None, 3], "b": [1.5, 2.5, 3.5]}), tmp_path / "x.parquet")
    assert invalid_rows(read_table(tmp_path / "x.parquet").X).tolist() == [1]


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.list_(pa.float32(), 2)])
def test_missing_vectors_are_rows_of_nan(tmp_path, kind):
    column = pa.array([[1, 2], None, [3, 4]], kind)
    pq.write_table(pa.table({"emb": column}), tmp_path / "x.parquet")
    read = read_table(tmp_path / "x.parquet").X
    assert invalid_rows(read).tolist() == [1]
    assert read[[0, 2]].tolist() == [[1, 2], [3, 4]]


def test_blank_lines_and_quoted_newlines_do_not_shift_rows(tmp_path):
    (tmp_path / "x.csv").write_text('\n"long\nname",b\n\n1,2\n\n3,4\n')
    table = read_table(tmp_path / "x.csv")
    assert table.X.tolist() == [[1, 2], [3, 4]]
    assert table.columns == ["long\nname", "b"]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a\n1\n\n3\n", [1, None, 3]),
        ("\n\na\n\n\n1\n\n\n", [None, None, 1]),
        ("\n1.5\n\n\n2\n", [1.5, None, None, 2]),
        ("a\r\n1\r\n\r\n3\r\n", [1, None, 3]),
        ("1\n2\n\n", [1, 2]),
    ],
)
def test_blank_line_of_a_single_column_is_an_empty_cell(tmp_path, text, values):
    (tmp_path / "x.csv").write_bytes(text.encode())
    expected = [[np.nan if value is None else value] for value in values]
    np.testing.assert_array_equal(read_table(tmp_path / "x.csv").X, expected)


def test_zero_rows_do_not_depend_on_the_block(monkeypatch):
    X = np.ones((1000, 3), np.float32)
    X[[0, 17, 999]] = 0
    X[5] = 0, np.nan, 0
    for size in (1, 100, 2**24):
        monkeypatch.setattr(tables, "BLOCK_BYTES", size)
        assert zero_rows(X).tolist() == [0, 17, 999]


def test_invalid_rows_do_not_depend_on_the_block(monkeypatch):
    X = np.zeros((1000, 3), np.float32)
    X[[0, 17, 203, 999], [0, 1, 2, 0]] = np.nan, np.inf, -np.inf, np.nan
    for size in (1, 100, 2**24):
        monkeypatch.setattr(tables, "BLOCK_BYTES", size)
        assert invalid_rows(X).tolist() == [0, 17, 203, 999]


def test_integers_have_no_invalid_rows():
    assert invalid_rows(np.zeros((3, 2), np.int32)).tolist() == []


# Complaints


def saved(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def zipped(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return file.getvalue()


def promising(shape, data=b"\0" * 80):
    """An .npy file whose header declares more than follows it."""
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header) + 1) + header + b"\n" + data


def parquet(**columns):
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


OBJECTS = saved(np.array([[1, "a"]], dtype=object))
MANY = [f"x{j}" for j in range(20)]

COMPLAINTS = {
    "empty file": ("x.npy", b"", "x.npy is empty (0 bytes)."),
    "suffix": (
        "x.xlsx",
        b"PK",
        "cannot read '.xlsx' files. Supported: .npy, .npz, .csv, .tsv, .parquet, .arrow, .feather, "
        ".ipc, .h5, .hdf5.",
    ),
    "no suffix": ("x", b"1,2", "cannot read '' files"),
    "not npy": ("x.npy", b"hello, I am not an array", "x.npy is not a readable .npy array"),
    "npy version": ("x.npy", b"\x93NUMPY\x09\x00\x01\x00", "Write it again with numpy.save"),
    "truncated": ("x.npy", saved(X)[:-8], "x.npy is cut short: its header promises (4, 3) float64"),
    "huge": ("x.npy", promising((10**9, 10**9)), "cut short: its header promises"),
    "overflow": ("x.npy", promising((2**62, 2**62)), "cut short: its header promises"),
    "negative": (
        "x.npy",
        promising((-4, -2)),
        "x.npy is damaged: its header gives the impossible shape (-4, -2). Save it again.",
    ),
    "objects": (
        "x.npy",
        OBJECTS,
        "x.npy holds Python objects; refusing to unpickle. "
        "Save a float array: np.save(f, x.astype('float32')).",
    ),
    "1-D": ("x.npy", saved(X[0]), "is 1-D with shape (3,). For rows of one number save x.reshape"),
    "3-D": ("x.npy", saved(X[None]), "is 3-D with shape (1, 4, 3). Flatten each row: x.reshape("),
    "0-D": (
        "x.npy",
        saved(np.float64(1)),
        "x.npy is 0-D with shape (), a single number. Save a matrix with one row for each point.",
    ),
    "no rows": ("x.npy", saved(X[:0]), "x.npy is empty: its shape is (0, 3)"),
    "no columns": ("x.npy", saved(X[:, :0]), "x.npy is empty: its shape is (4, 0)"),
    "text array": ("x.npy", saved(np.array([["a"]])), "x.npy holds text (<U1). Save numbers"),
    "byte strings": ("x.npy", saved(np.array([[b"a"]])), "x.npy holds text (|S1)"),
    "dates": ("x.npy", saved(X.astype("M8[s]")), "x.npy holds dates (datetime64[s])"),
    "durations": ("x.npy", saved(X.astype("m8[s]")), "x.npy holds durations"),
    "complex": ("x.npy", saved(X * 1j), "x.npy holds complex numbers. Save real ones"),
    "fields": ("x.npy", saved(np.zeros((2, 2), "f4,f4")), "x.npy has named fields"),
    "not npz": ("x.npz", b"PK but no", "x.npz is not a readable .npz file"),
    "several": (
        "x.npz",
        zipped(A=saved(X), B=saved(X), y=saved(LABELS)),
        "x.npz has 2 matrices. Candidates: A (4, 3), B (4, 3). Use --key A",
    ),
    "no matrix": (
        "x.npz",
        zipped(y=saved(LABELS)),
        "has no 2-D array of numbers. It holds: y (4,)",
    ),
    "empty npz": ("x.npz", zipped(), "has no 2-D array of numbers. It holds: nothing."),
    "huge npz": ("x.npz", zipped(X=promising((10**9, 10**6))), "x.npz[X] is cut short"),
    "objects npz": ("x.npz", zipped(X=OBJECTS), "has no 2-D array of numbers"),
    "blank csv": ("x.csv", b"\n\n", "x.csv is empty: it has no line with a value."),
    "only header": ("x.csv", b"a,b\n", "x.csv has no rows of numbers."),
    "text column": (
        "x.csv",
        b"id,x,y\nbob,1,2\neve,3,4\n",
        "x.csv has text in column 'id' (line 2: 'bob'). Take the numeric ones: --columns x,y",
    ),
    "text columns": (
        "x.csv",
        (",".join([*MANY, "who", "where"]) + "\n" + "1," * 20 + "bob,here\n").encode(),
        "has text in columns 'who', 'where' (line 2: 'bob'). "
        "Take the numeric ones: --columns x0:x19",
    ),
    "bare text column": (
        "x.csv",
        b"1,2,3\n3,4,b\n5,6,c\n7,8,d\n",
        "x.csv has text in column '2' (line 2: 'b'). Take the numeric ones: --columns 0,1",
    ),
    "all text": ("x.csv", b"a,b\nc,d\n", "(line 2: 'c'). No column holds numbers. Write"),
    "units": (
        "x.csv",
        "a,b\n1°,2°\n".encode(),
        "Write them without units or signs: 12.5, not 12.5 m.",
    ),
    "one bad cell": (
        "x.csv",
        b"a,b\n1,2\n3,oops\n5,6\n",
        "x.csv line 3: 'oops' is not a number (column b). Mend the line",
    ),
    "underscore": ("x.csv", b"a,b\n1,2\n3,1_0\n5,6\n", "line 3: '1_0' is not a number"),
    "short line": (
        "x.csv",
        b"a,b\n1,2\n3\n",
        "x.csv line 3 has 1 cells, but the first line has 2. Mend that line.",
    ),
    "long rows": ("x.csv", b"a,b\n1,2,3\n4,5,6\n", "x.csv line 2 has 3 cells"),
    "semicolons": (
        "x.csv",
        b"a;b\n1;2\n",
        "x.csv seems to be separated by ';'. Save it with commas",
    ),
    "semicolons and decimal commas": (
        "x.csv",
        b"1,5;2,5\n3,5;4,5\n",
        "x.csv seems to be separated by ';' and to have decimal commas (such as 3,5). Save it "
        "with decimal points, and commas (.csv) or tabs (.tsv) between them.",
    ),
    "named semicolons and decimal commas": (
        "x.csv",
        b"a;b\n1;2,5\n",
        "separated by ';' and to have decimal commas (such as 2,5)",
    ),
    "spaces": (
        "x.csv",
        b"1 2  3\n4 5  6\n",
        "x.csv seems to be separated by spaces. Save it with commas (.csv) or tabs (.tsv).",
    ),
    "named spaces": ("x.csv", b"a b\n1 2\n", "x.csv seems to be separated by spaces."),
    "spaces and decimal commas": (
        "x.csv",
        b"1,5 2,5\n3,5 4,5\n",
        "separated by spaces and to have decimal commas (such as 3,5)",
    ),
    "quoted decimal commas": (
        "x.csv",
        b'a,b\n"1,5","2,5"\n',
        "x.csv has decimal commas (such as 1,5). Save it with decimal points.",
    ),
    "tabs and decimal commas": ("x.tsv", b"1,5\t2\n", "x.tsv has decimal commas (such as 1,5)."),
    "dates are no decimal commas": (
        "x.csv",
        b"day,x\n2020 01 02,5\n",
        "x.csv has text in column 'day' (line 2: '2020 01 02'). Take the numeric ones: --columns x",
    ),
    "row numbers are no coordinate": (
        "x.csv",
        b"ID,x,y,z,who\n1,2,3,4,bob\n2,2,3,4,eve\n",
        "has text in column 'who' (line 2: 'bob'). Take the numeric ones: --columns x:z",
    ),
    "nameless row numbers are none either": (
        "x.csv",
        b",x,who\n0,2,bob\n1,2,eve\n",
        "has text in column 'who' (line 2: 'bob'). Take the numeric ones: --columns x",
    ),
    "nothing but row numbers": (
        "x.csv",
        b"id,who\n1,bob\n2,eve\n",
        "The only numbers are in column 'id', which seems to number the rows.",
    ),
    "comma in a name": (
        "x.csv",
        b'"x,y",z,who\n1,2,bob\n',
        "(line 2: 'bob'). Take the numeric ones: --columns 0,1",
    ),
    "name twice": ("x.csv", b"x,x,who\n1,2,bob\n", "Take the numeric ones: --columns 0,1"),
    "blank in a name": (
        "x.csv",
        b"my x,y,who\n1,2,bob\n",
        "Take the numeric ones: --columns 'my x,y'",
    ),
    "name that cannot be said": (
        "x.csv",
        b'"0,1",2,who\n1,2,bob\n',
        "(line 2: 'bob'). Take only the numeric ones.",
    ),
    "latin-1": ("x.csv", "größe,b\n1,2\n".encode("latin-1"), "x.csv is not UTF-8 text (byte 2)"),
    "gzip": ("x.csv", gzip.compress(b"1,2\n3,4\n"), "x.csv is compressed by gzip. Unpack it first"),
    "late latin-1": ("x.csv", b"a,b\n1,\xff\n", "x.csv is not UTF-8 text"),
    "binary csv": ("x.csv", b"a,b\n1,\x00\n", "x.csv"),
    "not parquet": ("x.parquet", b"PAR1 but no", "x.parquet is not a readable parquet file"),
    "parquet text": (
        "x.parquet",
        parquet(who=["a"], x=[1.0], y=[2.0]),
        "x.parquet has text in column 'who' (string). Take the numeric ones: --columns x,y",
    ),
    "parquet text and row numbers": (
        "x.parquet",
        parquet(id=[1, 2], who=["a", "b"], x=[1.0, 2.0]),
        "x.parquet has text in column 'who' (string). Take the numeric ones: --columns x",
    ),
    "other types": (
        "x.parquet",
        parquet(
            x=[1.0],
            day=pa.array([0], pa.timestamp("us")),
            who=["a"],
            pair=[{"a": 1}],
        ),
        "x.parquet has no numbers in columns 'day' (timestamp[us]), 'who' (string), "
        "'pair' (struct<a: int64>). Take the numeric ones: --columns x",
    ),
    "vectors with a comma": (
        "x.parquet",
        parquet(**{"a,b": [[1.0]], "c": [[1.0]]}),
        "Candidates: a,b (1), c (1). Use --vector 0",
    ),
    "vectors": (
        "x.parquet",
        parquet(clip=[[1.0, 2.0]], dino=[[1.0]]),
        "x.parquet has no single vector column. Candidates: clip (2), dino (1). Use --vector clip",
    ),
    "ragged": (
        "x.parquet",
        parquet(emb=[[1.0, 2.0], None, [3.0]]),
        "x.parquet column 'emb' has vectors of different lengths: 2 at first, 1 in row 2.",
    ),
    "null vectors": (
        "x.parquet",
        parquet(emb=pa.array([None], pa.list_(pa.float64()))),
        "x.parquet column 'emb' has no values.",
    ),
    "no parquet rows": ("x.parquet", parquet(x=pa.array([], pa.float64())), "has no rows."),
}


@pytest.mark.parametrize("case", COMPLAINTS)
def test_complaint_says_what_is_wrong(tmp_path, case):
    name, content, words = COMPLAINTS[case]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_table(tmp_path / name)
    assert words in str(caught.value)


def test_missing_file_suggests_a_neighbour(tmp_path):
    by_numpy_npy(tmp_path / "toy.npy")
    with pytest.raises(InputError, match=r"no such file: .*tyo\.npy\. Did you mean .*toy\.npy\?$"):
        read_table(tmp_path / "tyo.npy")


def test_missing_file_without_neighbours(tmp_path):
    with pytest.raises(InputError, match=r"no such file: .*tyo\.npy\.$"):
        read_table(tmp_path / "tyo.npy")
    with pytest.raises(InputError, match=r"There is no folder .*nowhere\.$"):
        read_table(tmp_path / "nowhere" / "tyo.npy")


def test_link_to_nothing_is_told_from_no_file(tmp_path):
    (tmp_path / "x.npy").symlink_to("gone.npy")
    with pytest.raises(InputError, match=r"x\.npy is a link to gone\.npy, which does not exist\."):
        read_table(tmp_path / "x.npy")


def test_folder_and_device_are_no_tables(tmp_path):
    with pytest.raises(InputError, match=r"is a folder without images \(\.bmp, .*or one file\.$"):
        read_table(tmp_path)
    os.mkfifo(tmp_path / "x.npy")
    with pytest.raises(InputError, match="is not a regular file"):
        read_table(tmp_path / "x.npy")


def test_unreadable_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*: File name too long"):
        read_table(tmp_path / ("x" * 300 + ".npy"))


def test_key_needs_npz_and_must_exist(tmp_path):
    by_numpy_npy(tmp_path / "x.npy")
    by_numpy_npz(tmp_path / "x.npz")
    with pytest.raises(InputError, match=r"--key X chooses an array of a \.npz or \.h5 file"):
        read_table(tmp_path / "x.npy", key="X")
    with pytest.raises(InputError, match=r"x\.npz has no array 'Z'\. It holds: X \(4, 3\), y"):
        read_table(tmp_path / "x.npz", key="Z")
    with pytest.raises(InputError, match=r"x\.npz\[y\] is 1-D"):
        read_table(tmp_path / "x.npz", key="y")


def test_unknown_column_is_named_with_a_hint(tmp_path):
    (tmp_path / "x.csv").write_text("width,height\n1,2\n")
    with pytest.raises(InputError, match=r"x\.csv has no column 'widht'\. Did you mean width\?"):
        read_table(tmp_path / "x.csv", columns=["widht"])
    with pytest.raises(InputError, match=r"no column 'zzz'\. It has: width, height\."):
        read_table(tmp_path / "x.csv", columns=["zzz"])
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(InputError, match=r"no column '3'\. It has: 0, 1, 2\."):
        read_table(tmp_path / "x.npy", columns=["3"])


@pytest.mark.parametrize(
    ("write", "suffix", "item", "words"),
    [
        (
            by_numpy_npy,
            ".npy",
            "2:0",
            "x.npy: the columns 2:0 run backwards; '2' comes after '0'. ",
        ),
        (by_numpy_npz, ".npz", "2:1", "x.npz: the columns 2:1 run backwards"),
        (by_pandas_csv, ".csv", "c:a", "'c' comes after 'a'. Write a:c"),
        (by_pandas_parquet, ".parquet", "c:a", "x.parquet: the columns c:a run backwards"),
        (by_numpy_npy, ".npy", "0,1,1", "x.npy: --columns 0,1,1 takes '1' twice. Name each column"),
        (by_pandas_csv, ".csv", "a,a", "x.csv: --columns a,a takes 'a' twice."),
        (by_pandas_csv, ".csv", "a,0", "x.csv: --columns a,0 takes 'a' twice."),
        (by_pandas_parquet, ".parquet", "b,a:c", "x.parquet: --columns b,a:c takes 'b' twice."),
    ],
)
def test_columns_run_forwards_and_come_once(tmp_path, write, suffix, item, words):
    path = tmp_path / f"x{suffix}"
    write(path)
    with pytest.raises(InputError) as caught:
        read_table(path, columns=item.split(","))
    assert words in str(caught.value)


def in_csv(path):
    path.write_text("a,b,a\n1,2,3\n4,5,6\n")


def in_parquet(path):
    columns = [pa.array([1.0, 4.0]), pa.array([2.0, 5.0]), pa.array([3.0, 6.0])]
    pq.write_table(pa.table(columns, names=["a", "b", "a"]), path)


@pytest.mark.parametrize(("write", "name"), [(in_csv, "x.csv"), (in_parquet, "x.parquet")])
def test_name_of_two_columns_is_refused_and_numbers_tell_them_apart(tmp_path, write, name):
    write(tmp_path / name)
    with pytest.raises(InputError) as caught:
        read_table(tmp_path / name, columns=["a"])
    assert str(caught.value) == (
        f"{name} has 2 columns named 'a'. Say which by number: --columns 0 or --columns 2"
    )
    assert read_table(tmp_path / name, columns=["2", "b"]).X.tolist() == [[3, 2], [6, 5]]
    assert read_table(tmp_path / name).X.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_number_is_a_name_where_names_are_numbers(tmp_path):
    (tmp_path / "x.csv").write_text("0,7,x\n1,2,3\n")
    assert read_table(tmp_path / "x.csv", columns=["7"]).X.tolist() == [[2]]
    with pytest.raises(InputError, match=r"no column '1'\. It has: 0, 7, x\."):
        read_table(tmp_path / "x.csv", columns=["1"])
    (tmp_path / "x.csv").write_text("7,7,x\n1,2,3\n")
    with pytest.raises(InputError, match=r"2 columns named '7'\. Rename all but one of them\."):
        read_table(tmp_path / "x.csv", columns=["7"])


def test_name_with_a_comma_is_suggested_by_number(tmp_path):
    (tmp_path / "x.csv").write_text('"long,name",c\n1,2\n')
    with pytest.raises(InputError, match=r"Did you mean 'long,name'\? --columns 0$"):
        read_table(tmp_path / "x.csv", columns=["long_name"])
    with pytest.raises(InputError, match=r"It has: 'long,name', c\. Take one with a comma in its"):
        read_table(tmp_path / "x.csv", columns=["zzz"])
    assert read_table(tmp_path / "x.csv", columns=["0"]).X.tolist() == [[1]]


@given(st.lists(st.text("ab01,: ", max_size=3), min_size=1, max_size=6), st.data())
def test_suggested_columns_are_understood(names, data):
    places = sorted(data.draw(st.sets(st.integers(0, len(names) - 1), min_size=1)))
    said = common.in_words(names, places)
    if said is not None:
        [typed] = shlex.split(said)
        assert common.pick_columns(comma_list(typed), names, "x") == places


def test_vectors_and_numbers_do_not_mix(tmp_path):
    (tmp_path / "x.parquet").write_bytes(parquet(a=[1.0], emb=[[1.0, 2.0]]))
    with pytest.raises(InputError, match=r"no single vector column\. Candidates: emb"):
        read_table(tmp_path / "x.parquet", columns=["a", "emb"])


def test_parquet_without_pyarrow_says_how_to_get_it(tmp_path, monkeypatch):
    by_pandas_parquet(tmp_path / "x.parquet")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    with pytest.raises(
        MissingExtraError, match=r"reading parquet needs pyarrow.*'crlm\[parquet\]'"
    ):
        read_table(tmp_path / "x.parquet")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="writing parquet needs pyarrow"):
        check_writable(tmp_path / "y.parquet")


@pytest.mark.filterwarnings("ignore:Reading `.npy` or `.npz` file required")
@pytest.mark.filterwarnings("ignore:.*left out the first column")
@pytest.mark.filterwarnings("ignore:.*was read as data")
@pytest.mark.filterwarnings("ignore:.*seems to number the rows")
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), suffix=st.sampled_from([".npy", ".npz", ".csv", ".parquet"]))
def test_damaged_file_is_a_sentence_or_a_matrix(tmp_path, data, suffix):
    content = bytearray(
        {
            ".npy": saved(X),
            ".npz": zipped(X=saved(X)),
            ".csv": b"a,b\n1,2\n3,4\n",
            ".parquet": parquet(a=[1.0], emb=[[1.0, 2.0]]),
        }[suffix]
    )
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / f"x{suffix}"
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    with contextlib.suppress(InputError):
        assert read_table(path).X.ndim == 2


# Writing


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def read_labels(path):
    if path.suffix == ".csv":
        return pd.read_csv(path)["label"].to_numpy()
    if path.suffix == ".npy":
        return np.load(path)
    return pl.read_parquet(path)["label"].to_numpy()


@pytest.mark.parametrize("suffix", [".csv", ".npy", ".parquet"])
def test_labels_are_read_back_by_others(tmp_path, suffix):
    path = tmp_path / f"labels{suffix}"
    write_labels(path, LABELS)
    np.testing.assert_array_equal(read_labels(path), LABELS)
    assert names_in(tmp_path) == [path.name]


def test_csv_of_labels_has_a_header_and_row_numbers(tmp_path):
    write_labels(tmp_path / "l.csv", LABELS)
    assert (tmp_path / "l.csv").read_text() == "row,label\n0,0\n1,-1\n2,1\n3,-1\n"


def test_new_file_has_the_usual_permissions(tmp_path):
    write_labels(tmp_path / "l.csv", LABELS)
    (tmp_path / "usual").touch()
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("l.csv", "usual")]
    assert modes[0] == modes[1]


def test_old_file_needs_force(tmp_path):
    path = tmp_path / "l.csv"
    path.write_text("old")
    with pytest.raises(OutputError, match=r"l\.csv exists\. Replace it with force=True"):
        write_labels(path, LABELS)
    assert path.read_text() == "old"
    write_labels(path, LABELS, force=True)
    assert path.read_text() != "old"


def test_symbolic_link_stays_a_link(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    write_labels(tmp_path / "link.csv", LABELS, force=True)
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() != "old"


def test_bad_destination_is_found_before_the_work(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "d.csv").mkdir()
    (tmp_path / "link.csv").symlink_to("gone/l.csv")
    for name, words in {
        "l.xlsx": r"its suffix must be one of \.csv, \.npy, \.parquet",
        "nowhere/l.csv": r"there is no folder .*nowhere\. Make it: mkdir -p",
        "file/l.csv": "is a file, not a folder",
        "link.csv": r"there is no folder .*gone\. Make it: mkdir -p",
        "d.csv": "it is a folder. Choose another name.",
    }.items():
        with pytest.raises(OutputError, match=words):
            check_writable(tmp_path / name)


def test_folder_without_permission_is_found_before_the_work(tmp_path, monkeypatch):
    # Root may write anywhere, so the answer of the system is put in its mouth.
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(OutputError, match=r"no permission to write in /"):
        check_writable(tmp_path / "l.csv")


@pytest.mark.parametrize("failure", [KeyboardInterrupt, SystemExit, RuntimeError])
def test_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path, failure):
    path = tmp_path / "l.csv"
    path.write_text("old")

    def write_some():
        with replacing(path) as file:
            file.write(b"new")
            raise failure

    with pytest.raises(failure):
        write_some()
    assert path.read_text() == "old"
    assert names_in(tmp_path) == ["l.csv"]


@pytest.mark.parametrize("suffix", [".csv", ".npy", ".parquet"])
def test_write_that_really_fails_leaves_nothing(tmp_path, suffix):
    labels = np.random.default_rng(0).integers(-1, 10**9, 20_000)  # more than any buffer holds
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    try:
        # In its own kind: the command ends as for a full disk.
        with pytest.raises(DiskFullError, match=r"cannot write .*: File too large .*\(ulimit -f\)"):
            write_labels(tmp_path / f"l{suffix}", labels)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_several_files_appear_together_or_not_at_all(tmp_path, failing):
    paths = [tmp_path / name for name in ("a.npy", "b.csv", "c.parquet")]
    paths[0].write_text("old")

    def write(file):
        file.write(b"new")

    def fail(file):
        file.write(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    jobs = [(path, fail if i == failing else write) for i, path in enumerate(paths)]
    words = rf"disk full while writing .*{paths[failing].name}\. Nothing was changed; make room\."
    with pytest.raises(DiskFullError, match=words):
        write_together(jobs)
    assert names_in(tmp_path) == ["a.npy"]
    assert paths[0].read_text() == "old"
    write_together([(path, write) for path in paths])
    assert [path.read_text() for path in paths] == ["new"] * 3


def test_full_disk_is_told_apart(tmp_path, monkeypatch):
    def fail(file, labels):
        file.write(b"row,")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setitem(tables.LABEL_WRITERS, ".csv", fail)
    with pytest.raises(DiskFullError, match=r"disk full while writing .*l\.csv\. Nothing was"):
        write_labels(tmp_path / "l.csv", LABELS)
    assert names_in(tmp_path) == []
