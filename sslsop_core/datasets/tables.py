"""Tables with named columns: CSV (commas, tabs, semicolons) and Parquet."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..features import Standardise
from ..spaces import Name, OutputSpace
from .limits import Limits, refuse_table
from .outputs import class_outputs, label_set_outputs, refuse_long_names
from .problem import Problem
from .report import Report, describe_outputs, output_warnings, share_missing, table_warnings

OUTPUT_NAMES = ("output", "class", "label", "target", "y")
LABEL_PREFIX = "label:"
LARGEST = 1e100  # squares of larger numbers overflow
GAPS = ["", "NA", "N/A", "NaN", "nan", "null", "None", "?"]


def read_csv(
    text: str, name: str, output: str | Sequence[str] | None, tree: dict[Name, Name] | None, limits: Limits
) -> Problem:
    """A text table with a header (or without one, when its first line holds numbers)."""
    import pandas as pd

    separator, decimal = marks_of(text)
    header = _header(text, separator, limits)
    first = 2 if has_header(header) else 1
    columns = header if first == 2 else [f"column {c}" for c in range(1, len(header) + 1)]
    targets, is_set = choose_output(columns, output)
    n_lines = text.count("\n") + 1
    refuse_table(n_lines, len(columns), limits)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                io.StringIO(text), sep=separator, header=None, names=columns, skiprows=first - 1,
                dtype=dict.fromkeys(targets, str), keep_default_na=False, skip_blank_lines=False,
                na_values={c: GAPS for c in columns if c not in targets}, index_col=False,
                decimal=decimal, low_memory=False,
            )  # fmt: skip
    except (pd.errors.ParserError, pd.errors.ParserWarning, pd.errors.EmptyDataError, OverflowError) as error:
        reason = str(error).replace("Error tokenizing data. C error: ", "").strip()
        raise ValueError(f"every line must have the {len(columns)} fields of the first: {reason}.") from None
    frame[targets] = frame[targets].fillna("")
    blank = frame.drop(columns=targets).isna().all(axis=1) & (frame[targets] == "").all(axis=1)
    frame = frame[~blank]
    places = [f"line {line + first}" for line in frame.index.tolist()]
    return table_problem("CSV", name, frame, targets, is_set, places, tree, limits, named=first == 2)


def marks_of(text: str) -> tuple[str, str]:
    """What separates cells in a table, and what stands before the decimals of a number."""
    separator = max("\t,;", key=text.partition("\n")[0].count)
    return separator, "," if separator == ";" and "," in text else "."


def _header(text: str, separator: str, limits: Limits) -> list[str]:
    try:
        cells = next(csv.reader(io.StringIO(text), delimiter=separator), [])
    except csv.Error as error:
        raise ValueError(f"line 1 cannot be read as a table: {error}.") from None
    cells = [cell.strip() for cell in cells]
    if len(cells) < 2:
        raise ValueError(
            "line 1: a table needs at least one feature column and an output column, separated by commas, "
            f"tabs or semicolons; got {','.join(cells)!r:.80}."
        )
    refuse_table(1, len(cells), limits)
    if any(len(cell) > limits.name for cell in cells):
        raise ValueError(f"line 1: column names must have at most {limits.name} characters.")
    if has_header(cells) and len(set(cells)) < len(cells):
        twice = next(cell for cell in cells if cells.count(cell) > 1)
        raise ValueError(f"line 1: column names must be distinct; {twice!r} occurs twice. Rename one.")
    return cells


def has_header(cells: Sequence[str]) -> bool:
    """Whether a first line names columns: no numbers in it, or a count such as 0, 1, 2, ..."""
    numbers = [cell for cell in cells if _is_number(cell)]
    counting = numbers in ([str(i + start) for i in range(len(numbers))] for start in (0, 1))
    return not numbers or (counting and len(numbers) < len(cells) and len(numbers) > 2)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def choose_output(columns: Sequence[str], output: str | Sequence[str] | None) -> tuple[list[str], bool]:
    """The output columns, and whether they are the labels of a set.

    Unless named, they are those that begin with `label:`, or else the one called output, class,
    label, target or y, or else the last.
    """
    if output is None:
        labels = [column for column in columns if column.startswith(LABEL_PREFIX)]
        known = [column for column in columns if column.lower() in OUTPUT_NAMES]
        return (labels, True) if labels else (known[:1] or [columns[-1]], False)
    chosen = [output] if isinstance(output, str) else list(output)
    strange = [column for column in chosen if column not in columns]
    if strange or not chosen:
        shown = ", ".join(columns[:10]) + (", ..." if len(columns) > 10 else "")
        raise ValueError(f"output must name columns of the file ({shown}); got {output!r:.80}.")
    return chosen, not isinstance(output, str)


def table_problem(
    kind: str,
    name: str,
    frame: Any,
    targets: list[str],
    is_set: bool,
    places: list[str],
    tree: dict[Name, Name] | None,
    limits: Limits,
    named: bool = True,
) -> Problem:
    """A data frame with text in the output columns as a problem; other columns must be numbers.

    `named` says whether the names of the columns are those of the file, by which new rows will be read.
    """
    if len(frame) < 2:
        raise ValueError(f"the table must have two rows or more; it has {len(frame)}.")
    columns = [column for column in frame.columns if column not in targets]
    if not columns:
        raise ValueError("the table must have a feature column besides the output; it has none.")
    X = _numbers(frame[columns], places)
    counts = named and columns[0] == "" and len(columns) > 1 and np.array_equal(X[:, 0], np.arange(len(X)))
    if counts:
        X, columns = X[:, 1:], columns[1:]
    y: list[Any]
    space: OutputSpace
    if is_set:
        labels = [target.removeprefix(LABEL_PREFIX) for target in targets]
        y, space = label_set_outputs(frame[targets].to_numpy(dtype=object).tolist(), labels, places)
    else:
        y, space = class_outputs(frame[targets[0]].tolist(), places, tree, limits)
    left_out = ("The first column has no name and counts the rows: it is left out.",) if counts else ()
    return numeric_problem(kind, name, X, y, space, columns, columns if named else None, left_out)


def _numbers(frame: Any, places: list[str]) -> np.ndarray:
    import pandas as pd

    # Columns of nothing but numbers were recognised as such; the others hold the mistakes.
    for name in frame.select_dtypes(exclude=["number", "bool"]).columns:
        numbers = pd.to_numeric(frame[name], errors="coerce")
        wrong = np.flatnonzero(numbers.isna() & frame[name].notna())
        if len(wrong):
            raise _not_a_number(frame[name], int(wrong[0]), places)
        frame = frame.assign(**{name: numbers})
    values = frame.to_numpy(dtype=float, na_value=np.nan)
    large = np.argwhere(np.abs(values) > LARGEST)
    if len(large):
        raise _not_a_number(frame.iloc[:, int(large[0, 1])], int(large[0, 0]), places)
    return values


def _not_a_number(column: Any, row: int, places: list[str]) -> ValueError:
    return ValueError(
        f"{places[row]}, column {column.name!r}: {str(column.iloc[row])!r:.60} is not a finite number. "
        "Correct it, or remove the column; if it is the output, name it as such."
    )


def numeric_problem(
    kind: str,
    name: str,
    X: np.ndarray,
    y: list[Any],
    space: OutputSpace,
    columns: Sequence[str],
    named: Sequence[str] | None = None,
    warnings: Sequence[str] = (),
) -> Problem:
    """A table of numbers, standardised, empty cells filled; `named` are the columns that the file names."""
    found = (*warnings, *table_warnings(X, columns), *output_warnings(y, space))
    features = f"{X.shape[1]:,} features"
    report = Report(kind, len(X), features, describe_outputs(space), share_missing(y), found)
    return Problem(name, y, space, inputs=X, features=Standardise(columns=named), report=report)


def read_parquet(
    data: bytes, name: str, output: str | Sequence[str] | None, tree: dict[Name, Name] | None, limits: Limits
) -> Problem:
    """A Parquet table; sizes and types are checked in its footer before any column is read."""
    import pandas as pd
    import pyarrow as pa
    from pyarrow import parquet

    try:
        footer = parquet.ParquetFile(io.BytesIO(data))
        columns = list(map(str, footer.schema_arrow.names))
        if len(set(columns)) < len(columns):
            raise ValueError("column names must be distinct; some occur twice. Rename them.")
        refuse_table(footer.metadata.num_rows, len(columns), limits)
        _refuse_unpacked(footer.metadata, limits)
        targets, is_set = choose_output(columns, output)
        _refuse_types(footer.schema_arrow, targets)
        # Dictionary form: a long text that a million rows repeat is kept once.
        table = parquet.ParquetFile(io.BytesIO(data), read_dictionary=targets).read(use_threads=False)
        table.validate(full=True)
    except (pa.ArrowException, OSError, MemoryError) as error:
        raise ValueError(f"the Parquet file is damaged ({str(error)[:120]}). Write it again.") from None
    # Column by column: notes for pandas in the file are not trusted.
    features = [c for c in columns if c not in targets]
    frame = pd.DataFrame({c: table[c].cast(pa.float64(), safe=False).to_numpy() for c in features})
    for target in targets:
        frame[target] = _texts(table[target], limits)
    places = [f"row {row + 1}" for row in range(len(frame))]
    return table_problem("Parquet", name, frame, targets, is_set, places, tree, limits)


def _refuse_unpacked(metadata: Any, limits: Limits) -> None:
    total = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
    if total > limits.unpacked:
        raise ValueError(f"the file must unpack to at most {limits.unpacked:,} bytes; it has {total:,}.")


def _refuse_types(schema: Any, targets: list[str]) -> None:
    from pyarrow import types

    for field in schema:
        numbers = (types.is_integer, types.is_floating, types.is_boolean)
        texts = (types.is_string, types.is_large_string, types.is_dictionary) if field.name in targets else ()
        if not any(is_kind(field.type) for is_kind in (*numbers, *texts)):
            raise ValueError(
                f"column {field.name!r:.80} must hold numbers; it holds {field.type}. Convert or "
                "remove it; if it is the output, name it as such."
            )


def _texts(column: Any, limits: Limits) -> list[str]:
    """Output values as text: 1.0 reads as 1, and null as missing."""
    texts: list[str] = []
    for chunk in column.dictionary_encode().chunks:
        values = [_text(value) for value in chunk.dictionary.to_pylist()]
        refuse_long_names(values, limits)
        texts += ["" if code is None else values[code] for code in chunk.indices.to_pylist()]
    return texts


def _text(value: Any) -> str:
    if value is None or value != value:
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
