"""How much a file from outside may ask of us before it is refused."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Caps on what is read; pass larger ones to `read` for a file that you trust."""

    bytes: int = 50_000_000  # of the file
    rows: int = 300_000
    tokens: int = 100_000  # of tagged text, all sentences together
    columns: int = 10_000  # of a dense table
    sparse_columns: int = 1_000_000
    cells: int = 5_000_000  # rows times columns of a dense table
    line: int = 4_000_000  # characters
    members: int = 10_000  # files in a zip
    unpacked: int = 200_000_000  # bytes of all files in a zip
    ratio: int = 250  # unpacked to packed, of files over a megabyte
    pixels: int = 100_000_000  # of all images together
    outputs: int = 1_000  # classes, tags or labels
    nodes: int = 2_000  # of a tree
    name: int = 200  # characters of a class, tag, label or column name


def refuse_table(rows: int, columns: int, limits: Limits) -> None:
    """Refuse a dense table that is too large, before memory is taken for it."""
    if columns > limits.columns:
        raise ValueError(f"columns must be at most {limits.columns:,}; it has {columns:,}. Select fewer.")
    if rows > limits.rows:
        raise ValueError(f"rows must be at most {limits.rows:,}; the file has {rows:,}. Take a sample.")
    if rows * columns > limits.cells:
        raise ValueError(
            f"rows times columns must be at most {limits.cells:,}; the file has {rows:,} x {columns:,}. "
            "Take a sample of rows or fewer columns."
        )
