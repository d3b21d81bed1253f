"""Tables that leave the program."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

# A spreadsheet takes a text that begins like this for a formula and runs it.
FORMULA = ("=", "+", "-", "@", "\t", "\r")
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")  # a class may be called -1


def to_csv(table: pd.DataFrame, index: bool = False) -> str:
    """CSV in which no text is a formula: such texts get an apostrophe in front, as spreadsheets write it.

    >>> print(to_csv(pd.DataFrame({"name": ["=1+1", "fine"], "loss": [-0.5, 1.0]})), end="")
    name,loss
    '=1+1,-0.5
    fine,1.0
    """
    table = table.reset_index() if index else table
    return table.rename(columns=_harmless).map(_harmless).to_csv(index=False)


def _harmless(value: Any) -> Any:
    formula = isinstance(value, str) and value.startswith(FORMULA) and not NUMBER.fullmatch(value)
    return f"'{value}" if formula else value
