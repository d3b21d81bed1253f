"""New inputs for a trained model: from a file of rows, from images, from sentences."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd

from sslsop_core.datasets import Limits
from sslsop_core.datasets.pictures import Decoder
from sslsop_core.datasets.tables import has_header, marks_of
from sslsop_core.features import Features

MOST_ROWS = 20_000


def rows_of_csv(data: bytes, d: int, blocks: bool, named: bool = False) -> Any:
    """Rows of d numbers; for sequences, blocks of rows with an empty line between them.

    A first line of names is left out or, if `named`, comes with the rows, for features that go by names.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError("the file must be text in UTF-8. Save it as CSV.") from error
    if not text.strip():
        raise ValueError("the file is empty. It must hold a row of numbers per input.")
    if blocks:
        parts = text.replace("\r\n", "\n").strip().split("\n\n")
        return [_numbers(part, d) for part in parts]
    return _numbers(text, d, named)


def _numbers(text: str, d: int, named: bool = False) -> Any:
    separator, decimal = marks_of(text)
    first = [cell.strip() for cell in text.lstrip().partition("\n")[0].split(separator)]
    head = 0 if has_header(first) else None
    try:
        table = pd.read_csv(
            io.StringIO(text), sep=separator, decimal=decimal, header=head, nrows=MOST_ROWS + 1
        )
        if named and head == 0:
            return _few(table.rename(columns=str.strip))
        rows = table.to_numpy(dtype=float)
    except (ValueError, pd.errors.ParserError) as error:
        raise ValueError(f"the file must hold numbers only, separated by commas: {error}") from error
    if rows.shape[1] != d:
        raise ValueError(
            f"each row must have {d} numbers, as in training; the file has {rows.shape[1]} columns."
        )
    return _few(rows)


def _few(rows: Any) -> Any:
    if len(rows) > MOST_ROWS:
        raise ValueError(f"the file must have at most {MOST_ROWS:,} rows. Split it.")
    return rows


def grey_images(files: list[bytes], shape: tuple[int, int]) -> np.ndarray:
    """Images as grey ones of the size that the model was trained on."""
    decode = Decoder((shape[1], shape[0]), Limits())
    return np.stack([decode(f"image {number}", data) for number, data in enumerate(files, start=1)])


def sentences(text: str, like: Any = None) -> list[tuple[Any, ...]]:
    """One sentence per line, tokens between spaces, in the form of the training inputs if they are known."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if not lines:
        raise ValueError("write at least one sentence.")
    bare = like is None or isinstance(like[0][0], str)
    width = 1 if bare else len(like[0][0])
    return [tuple(word if bare else (word,) + ("",) * (width - 1) for word in line) for line in lines]


def as_features(features: Features | None, inputs: Any) -> Any:
    """Rows of X for raw inputs, by the pipeline that made the training rows."""
    return inputs if features is None else features.transform(inputs)
