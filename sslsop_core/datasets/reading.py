"""One door for anybody's file: recognise its kind, read it, say what was understood, or refuse it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..features import Features, Hog, Pixels
from ..spaces import Name
from .archives import open_zip
from .arrays import read_arrays
from .columns import read_conll
from .limits import Limits
from .outputs import class_outputs, read_tree
from .pictures import class_images, folder_files
from .problem import Problem
from .report import Report, describe_outputs, input_warnings, output_warnings, share_missing
from .svmlight import SVM_LINE, read_svmlight
from .tables import read_csv, read_parquet

FORMATS = ("csv", "parquet", "npz", "conll", "svmlight", "images")
UNLABELED = ("unlabeled", "unlabelled", "_", "?")  # folders of images without an output
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".conll": "conll",
    ".iob": "conll",
    ".bio": "conll",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
}


def read(
    source: Any,
    *,
    name: str | None = None,
    format: str | None = None,
    output: str | Sequence[str] | None = None,
    tree: Any = None,
    side: int = 64,
    limits: Limits | None = None,
) -> Problem:
    """A problem from a file of one's own; `problem.report` says what was understood.

    Parameters
    ----------
    source : path, bytes, or an open binary file. A path may also be a folder of `class/image` files.
    name : what to call it; the file's name by default.
    format : "csv" (also tabs and semicolons), "parquet", "npz", "conll", "svmlight" or "images"
        (a zip of `class/image`); recognised by itself when not given.
    output : name of the output column of a table; a list of names makes label sets of 0/1 columns.
    tree : path, bytes or file of a `node,parent` table: classes become leaves of that tree.
    side : images are reduced to this many pixels square.
    limits : caps on size; the default ones suit files from strangers.

    >>> problem = read(b"a,b,class\\n1,2,x\\n3,4,y\\n5,6,\\n")
    >>> problem.y
    ['x', 'y', None]
    >>> print(str(problem.report).splitlines()[0])
    CSV: 3 rows, 2 features, 2 classes (x, y), 33% of the outputs missing.
    """
    limits = limits or Limits()
    if format is not None and format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}; got {format!r}.")
    if isinstance(source, (str, Path)) and Path(source).is_dir():
        files = folder_files(Path(source), limits)
        parents = read_tree(decode(content(tree, limits)), limits) if tree is not None else None
        return _image_problem(files, name or Path(source).name, parents, side, limits)
    data = content(source, limits)
    if not data.strip():
        raise ValueError("the file is empty. Choose one with data.")
    file_name = str(getattr(source, "name", source if isinstance(source, (str, Path)) else ""))
    kind = format or recognise(data, file_name)
    called = name or Path(file_name).stem or kind
    parents = read_tree(decode(content(tree, limits)), limits) if tree is not None else None
    if kind == "images":
        return _image_zip(data, called, parents, side, limits)
    if kind == "npz":
        return read_arrays(data, called, parents, limits)
    if kind == "parquet":
        return read_parquet(data, called, output, parents, limits)
    text = decode(data)
    refuse_lines(text, limits)
    if kind == "conll":
        return read_conll(text, called, limits)
    if kind == "svmlight":
        return read_svmlight(text, called, parents, limits)
    return read_csv(text, called, output, parents, limits)


def content(source: Any, limits: Limits) -> bytes:
    """The bytes of a path, of an open file, or as they are; refused when there are too many."""
    if isinstance(source, (str, Path)):
        path = Path(source)
        if not path.is_file():
            raise ValueError(f"source must be a file that exists; {str(source)!r:.120} does not.")
        with path.open("rb") as stream:
            data = stream.read(limits.bytes + 1)
    elif isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
    elif hasattr(source, "read"):
        data = source.read(limits.bytes + 1)
    else:
        raise ValueError(f"source must be a path, bytes or an open file; got {type(source).__name__}.")
    if not isinstance(data, bytes):
        raise ValueError("source must be opened in binary mode; it gives text.")
    if len(data) > limits.bytes:
        raise ValueError(f"a file must have at most {limits.bytes:,} bytes; it has more. Take a sample.")
    return data


def decode(data: bytes) -> str:
    """Text of a UTF-8 or UTF-16 file with any line ends; other encodings are refused by line."""
    codec = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(codec)
    except UnicodeDecodeError as error:
        line, byte = data[: error.start].count(b"\n") + 1, data[error.start]
        raise ValueError(f"line {line}: byte 0x{byte:02x} is not UTF-8. Save the file as UTF-8.") from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise ValueError(f"line {line}: the file is not text (it holds a zero byte) and of no known kind.")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def refuse_lines(text: str, limits: Limits) -> None:
    """Refuse lines that no table has."""
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > limits.line:
            most = f"at most {limits.line:,} characters"
            raise ValueError(f"line {number} must have {most}; it has {len(line):,}. Is it a table?")


def recognise(data: bytes, file_name: str = "") -> str:
    """The format of a file, by its first bytes, its name, or the look of its lines."""
    if data[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return "npz" if b".npy" in data[:300] else "images"
    if data[:4] == b"PAR1":
        return "parquet"
    by_name = SUFFIXES.get(Path(file_name).suffix.lower())
    if by_name:
        return by_name
    lines = [line.rstrip("\r") for line in data[:20_000].decode("utf-8", "replace").split("\n")[:50]]
    filled = [line for line in lines if line.strip() and not line.startswith("#")]
    if not filled:
        return "csv"
    if all(SVM_LINE.match(line) and re.search(r"\d:", line) for line in filled[:5]):
        return "svmlight"
    inner = "\n".join(lines).strip().split("\n")
    separated = any(not line.strip() for line in inner)
    return "conll" if separated and not any(mark in filled[0] for mark in ",;") else "csv"


def _image_zip(
    data: bytes, name: str, parents: dict[Name, Name] | None, side: int, limits: Limits
) -> Problem:
    files = open_zip(data, limits)
    inside = next((file for file in files if Path(file).name == "tree.csv"), None)
    if parents is None and inside:
        parents = read_tree(decode(files[inside]), limits)
    return _image_problem(files, name, parents, side, limits)


def _image_problem(
    files: dict[str, bytes], name: str, parents: dict[Name, Name] | None, side: int, limits: Limits
) -> Problem:
    if not isinstance(side, int) or not 8 <= side <= 256:
        raise ValueError(f"side must be a whole number between 8 and 256; got {side!r}.")
    images, classes, places = class_images(files, side, limits)
    given = ["" if folder in UNLABELED else folder for folder in classes]
    y, space = class_outputs(given, places, parents, limits)
    found = (*input_warnings(images), *output_warnings(y, space))
    pixels = f"{side} x {side} grey pixels"
    report = Report("Images", len(y), pixels, describe_outputs(space), share_missing(y), found)
    return Problem(
        name, y, space, metric="cosine", inputs=images, features=image_features(side), report=report
    )


def image_features(side: int) -> Features:
    """Oriented gradients, in an 8 x 8 grid of cells; tiny images are taken as they are."""
    return Hog(cell=side // 8) if side >= 32 else Pixels()
