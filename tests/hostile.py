"""A corpus of files that must be refused: name -> (bytes, keywords of `read`, part of the message)."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable

import numpy as np

CORPUS: dict[str, tuple[Callable[[], bytes], dict, str]] = {}


def case(text: str, **arguments):
    """Register the decorated function as the maker of a bad file."""

    def register(make):
        CORPUS[make.__name__] = (make, arguments, text)
        return make

    return register


def literal(name: str, data: bytes, text: str, **arguments) -> None:
    CORPUS[name] = (lambda: data, arguments, text)


def zipped(files: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def npy(array: np.ndarray, allow_pickle: bool = False) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=allow_pickle)
    return buffer.getvalue()


def with_header(header: bytes) -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


def npz(**arrays: np.ndarray) -> bytes:
    return zipped({f"{name}.npy": npy(array) for name, array in arrays.items()})


def png(side: int = 8, value: int = 0) -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(np.full((side, side), value, dtype=np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


X = np.arange(12.0).reshape(6, 2)
Y = np.array(["a", "b"] * 3)
TREE = b"node,parent\nx,root\ny,root\n"

# --- text tables ------------------------------------------------------------------------------------
literal("empty", b"", "empty")
literal("blank", b" \n\n  \n", "empty")
literal("one_word", b"hello", "at least one feature column and an output column")
literal("one_line", b"a,b,class", "two rows or more; it has 0")
literal("one_row", b"a,b,class\n1,2,x\n", "two rows or more; it has 1")
literal("one_column", b"a\n1\n2\n", "at least one feature column")
literal("word_as_feature", b"a,b,class\n1,2,x\n3,red,y\n", "line 3, column 'b': 'red' is not a finite number")
literal("infinite_feature", b"a,b,class\n1,2,x\n3,1e999,y\n", "line 3, column 'b'")
literal("too_many_fields", b"a,b,class\n1,2,x\n3,4,y,5\n", "the 3 fields of the first")
literal("open_quote", b'a,b,class\n1,2,x\n3,4,"y\n', "the 3 fields of the first")
literal("twice_the_same_column", b"a,a,class\n1,2,x\n3,4,y\n", "'a' occurs twice")
literal("no_output_given", b"a,b,class\n1,2,\n3,4,\n", "at least one value; all are empty")
literal("one_class", b"a,b,class\n1,2,x\n3,4,x\n", "two values or more; the only one is 'x'")
literal("latin_1", b"a,b,class\n1,2,caf\xc3\xa9\n3,4,caf\xe9\n", "line 3: byte 0xe9 is not UTF-8")
literal("binary", b"\x00\x01\x02\x03" * 100, "holds a zero byte")
literal("gzip", b"\x1f\x8b\x08" + b"\xff" * 50, "is not UTF-8")
literal("half_utf_16", b"\xff\xfea\x00,", "is not UTF-8")
literal("strange_output", b"a,b\n1,x\n2,y\n", "output must name columns of the file", output="c")
literal("only_outputs", b"a,b\n1,0\n0,1\n", "a feature column besides the output", output=["a", "b"])
literal("label_of_two", b"a,label:x,label:y\n1,0,2\n1,0,1\n", "line 2, column 'y': expected 0, 1 or empty")
literal("no_labels", b"a,label:x\n1,\n2,\n", "at least one value; all are empty")
literal("long_class_name", b"a,class\n1,x\n2," + b"y" * 300, "at most 200 characters")
literal("long_column_name", b"a" * 300 + b",class\n1,x\n2,y\n", "column names must have at most 200")


@case("looks like a measurement")
def measured_output() -> bytes:
    return b"a,y\n" + b"\n".join(b"%d,%f" % (i, i * 1.01) for i in range(100))


@case("columns must be at most 10,000; it has 1,000,000")
def a_million_columns() -> bytes:
    return b",".join([b"a"] * 10**6) + b"\n1\n"


@case("line 1 must have at most 4,000,000 characters; it has 10,000,000")
def ten_megabytes_in_a_line() -> bytes:
    return b"1" * 10**7


@case("rows times columns must be at most 5,000,000")
def too_many_cells() -> bytes:
    return b",".join(b"c%d" % i for i in range(9_000)) + b"\n" * 600


@case("rows must be at most 300,000")
def too_many_rows() -> bytes:
    return b"a,class\n" + b"1,x\n" * 400_000


@case("at most 50,000,000 bytes")
def too_many_bytes() -> bytes:
    return b"a,class\n" + b" " * 50_000_000


# --- NPZ ----------------------------------------------------------------------------------------------
literal("npz_without_X", npz(y=Y), "arrays X and y")
literal("npz_X_of_one_axis", npz(X=X[:, 0], y=Y), "X must be a table of numbers")
literal("npz_X_of_text", npz(X=X.astype(str), y=Y), "X must be a table of numbers")
literal("npz_X_infinite", npz(X=X + np.inf, y=Y), "got inf in row 0, column 0")
literal("npz_short_y", npz(X=X, y=Y[:3]), "an entry per row of X, 6")
literal("npz_no_output", npz(X=X, y=np.full(6, -1)), "all are empty")
literal("npz_labels_of_two", npz(X=X, y=np.full((6, 2), 2)), "expected 0, 1 or empty")
literal("npz_uneven_lengths", npz(X=X, y=Y, lengths=np.array([2, 2])), "lengths must be whole numbers")
literal("npz_negative_lengths", npz(X=X, y=Y, lengths=np.array([8, -2])), "lengths must be whole numbers")
literal("npz_tokens_with_gaps", npz(X=X * np.nan, y=Y, lengths=np.array([2, 4])), "must not have NaN")
literal("npz_garbage", zipped({"X.npy": b"not an array", "y.npy": npy(Y)}), "unreadable header")
literal("npz_structured", npz(X=np.zeros(6, dtype="f8,f8"), y=Y), "must hold numbers or text")


@case("Objects would have to be unpickled")
def npz_pickle() -> bytes:
    return zipped({"X.npy": npy(np.array([{}, {}], dtype=object), allow_pickle=True), "y.npy": npy(Y)})


@case("says it has the shape")
def npz_lying_header() -> bytes:
    lying = b"{'descr': '<f8', 'fortran_order': False, 'shape': (6000000000, 2), }".ljust(117) + b"\n"
    return zipped({"X.npy": with_header(lying) + X.tobytes(), "y.npy": npy(Y)})


@case("unreadable header")
def npz_code_in_header() -> bytes:
    code = b"__import__('os').getcwd()".ljust(117) + b"\n"
    return zipped({"X.npy": with_header(code), "y.npy": npy(Y)})


@case("unreadable header")
def npz_endless_header() -> bytes:
    nested = b"(" * 60_000
    return zipped({"X.npy": with_header(nested), "y.npy": npy(Y)})


# --- zips ---------------------------------------------------------------------------------------------
literal("zip_cut_short", zipped({"a/1.png": png()})[:60], "damaged")
literal("zip_of_text", zipped({"a/readme.txt": b"hello"}), "one folder per class")
literal("zip_traversal", zipped({"../a/1.png": png(), "b/2.png": png()}), "plain relative paths")
literal("zip_absolute", zipped({"/a/1.png": png(), "b/2.png": png()}), "plain relative paths")
literal("zip_windows_path", zipped({"c:\\a\\1.png": png(), "b/2.png": png()}), "plain relative paths")
literal("zip_lzma", zipped({"a/1.png": png()}, zipfile.ZIP_LZMA), "packed in an unusual way")
literal("zip_flat", zipped({"1.png": png(), "2.png": png(8, 9)}), "'1.png' lies outside a folder")
literal("zip_one_class", zipped({"a/1.png": png(), "a/2.png": png(8, 9)}), "two values or more")
literal("zip_no_image", zipped({"a/1.png": b"hello", "b/2.png": png()}), "'a/1.png' is not a readable image")
literal("zip_half_image", zipped({"a/1.png": png(64)[:60], "b/2.png": png()}), "'a/1.png' is not a")
literal("zip_svg", zipped({"a/1.png": b"<svg/>", "b/2.png": png()}), "not a readable image")
literal("zip_nested", zipped({"a/1.zip": zipped({"b/2.png": png()})}), "one folder per class")
literal("zip_empty", zipped({}), "one folder per class")
literal("zip_tree_without_class", zipped({"a/1.png": png(), "tree.csv": TREE}), "'a' is not a node")


@case("would unpack to")
def zip_bomb() -> bytes:
    return zipped({"a/1.png": bytes(100_000_000), "b/2.png": png()})


@case("must unpack to at most 200,000,000")
def zip_of_many_small_bombs() -> bytes:
    return zipped({f"a/{i}.png": bytes(999_999) for i in range(210)})


@case("at most 10,000 files")
def zip_of_a_crowd() -> bytes:
    return zipped({f"a/{i}": b"" for i in range(10_001)})


@case("damaged")
def zip_lying_about_sizes() -> bytes:
    packed = bytearray(zipped({"X.npy": npy(np.zeros((100, 100))), "y.npy": npy(Y)}))
    at = packed.index(b"PK\x01\x02") + 24
    packed[at : at + 4] = struct.pack("<I", 100)  # the list says 100 bytes, the data holds 80 KB
    return bytes(packed)


@case("must not have a password")
def zip_encrypted() -> bytes:
    packed = bytearray(zipped({"a/1.png": png(), "b/2.png": png()}))
    packed[packed.index(b"PK\x01\x02") + 8] |= 1
    return bytes(packed)


@case("two files of one name")
def zip_twice_the_same_name() -> bytes:
    return zipped({"a/1.png": png(), "a/2.png": png()}).replace(b"a/2.png", b"a/1.png")


@case("goes beyond|not a readable image")
def image_bomb() -> bytes:
    header = bytearray(png(8))
    header[16:24] = struct.pack(">II", 60_000, 60_000)
    return zipped({"a/1.png": bytes(header), "b/2.png": png()})


@case("100,000,000 pixels together")
def many_large_images() -> bytes:
    large = png(4000)
    return zipped({f"{c}/{i}.png": large for c in "ab" for i in range(4)}, zipfile.ZIP_STORED)


# --- Parquet ----------------------------------------------------------------------------------------------
def parquet(**columns) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet as pq

    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


literal("parquet_garbage", b"PAR1" + b"\x07" * 100, "the Parquet file is damaged")


@case("the Parquet file is damaged")
def parquet_cut_short() -> bytes:
    return parquet(a=[1.0, 2.0], y=["x", "y"])[:-20]


@case("column 'a' must hold numbers; it holds list")
def parquet_nested() -> bytes:
    return parquet(a=[[1.0], [2.0]], y=["x", "y"])


@case("column 'a' must hold numbers; it holds string")
def parquet_text_feature() -> bytes:
    return parquet(a=["1", "2"], y=["x", "y"])


@case("rows must be at most 300,000; the file has 2,000,000")
def parquet_many_rows() -> bytes:
    return parquet(a=np.zeros(2_000_000), y=np.zeros(2_000_000, dtype=np.int8))


@case("at most 200 characters")
def parquet_long_text_repeated() -> bytes:
    import pyarrow as pa

    codes = pa.array([0, 1] * 100_000, pa.int32())
    texts = pa.DictionaryArray.from_arrays(codes, ["x" * 100_000, "y" * 100_000])
    return parquet(a=np.zeros(200_000), y=texts)


# --- tagged text and svmlight -------------------------------------------------------------------------------
literal("conll_one_sentence", b"Ana\tB\nruns\tO\n", "two sentences or more", format="conll")
literal("conll_words_only", b"Ana\n\nruns\n", "a word and its tag", format="conll")
literal("conll_ragged", b"Ana x B\n\nruns O\nfar\n", "line 4: expected 3 columns", format="conll")
literal("conll_one_tag", b"Ana\tO\n\nruns\tO\n", "two tags or more", format="conll")
literal("conll_long", b"a\tO\n" * 100_001, "lines must be at most 100,000", format="conll")
literal("white_control", b"\x1c", "at least one feature column")
literal("svm_bad_pair", b"a 1:2\nb 1:2 x\n", "line 2: expected output column:value", format="svmlight")
literal("svm_no_number", b"a 1:2\nb 1:x\n", "not sound svmlight", format="svmlight")
literal("svm_falling", b"a 1:2\nb 3:1 2:1\n", "not sound svmlight", format="svmlight")
literal("svm_far_column", b"a 1:2\nb 999999999:1\n", "numbered up to 1,000,000", format="svmlight")
literal("svm_farther_column", b"a 1:2\nb 99999999999999999999:1\n", "not sound svmlight", format="svmlight")
literal("svm_infinite", b"a 1:2\nb 1:inf\n", "line 2: values must be finite", format="svmlight")
literal("svm_no_columns", b"a\nb\n", "it holds outputs only", format="svmlight")

# --- trees ----------------------------------------------------------------------------------------------
TABLE = b"a,class\n1,x\n2,y\n3,x\n"
literal("tree_cycle", TABLE, "cycle", tree=b"node,parent\nx,y\ny,x\n")
literal("tree_two_roots", TABLE, "roots", tree=b"node,parent\nx,r\ny,s\n")
literal("tree_twice", TABLE, "line 3: node 'x' has a parent already", tree=b"node,parent\nx,r\nx,s\n")
literal("tree_wide", TABLE, "line 2: expected node,parent", tree=b"node,parent\nx,r,3\n")
literal("tree_empty", TABLE, "parents must map", tree=b"node,parent\n")
literal("tree_of_another", TABLE, "line 2: 'x' is not a node of the tree", tree=b"node,parent\nu,r\nv,r\n")
literal("tree_too_large", TABLE, "at most 2,000 nodes", tree=b"\n".join(b"n%d,r" % i for i in range(3000)))
literal("tree_binary", TABLE, "is not UTF-8", tree=b"\x80\x81")
