"""What a comparison says, in words: with its interval, and never more than the folds can tell."""

from __future__ import annotations

import pandas as pd

from sslsop_core.evaluation.losses import HIGHER_IS_BETTER

from .plans import CONTROL, SSLSOP_NAME

LEVEL = "not distinguishable"


def amount(value: float) -> str:
    """A loss or a difference with three digits after the point.

    >>> amount(0.03456), amount(-0.0001)
    ('0.035', '-0.000')
    """
    return f"{value:.3f}"


def span(low: float, high: float) -> str:
    """An interval in words; one fold has none.

    >>> span(0.1, 0.25), span(float("nan"), float("nan"))
    ('0.100 to 0.250', '-')
    """
    return "-" if pd.isna(low) or pd.isna(high) else f"{amount(low)} to {amount(high)}"


def standing(row: pd.Series, measure: str) -> str:
    """How SSLSOP stands to the method of a row of `Comparison.table`: better, worse, not distinguishable.

    Only an interval that leaves zero out, and a test that agrees, make a difference.
    """
    if pd.isna(row["difference_low"]):
        return ""
    lower, higher = row["difference_low"] > 0, row["difference_high"] < 0
    if measure in HIGHER_IS_BETTER:
        lower, higher = higher, lower
    return "SSLSOP better" if lower else "SSLSOP worse" if higher else LEVEL


def does_it_help(table: pd.DataFrame, measure: str) -> str:
    """Does the unlabelled data help here? SSLSOP beside the predictor of the labelled points alone."""
    if any(table["folds"].get(name, 0) < 2 for name in (SSLSOP_NAME, CONTROL)):
        return "Two folds of SSLSOP and of the labelled-only control are needed before anything can be said."
    row = table.loc[CONTROL]
    if pd.isna(row["difference_low"]):
        return "SSLSOP and the labelled-only control have no two folds in common yet."
    name = "entity F1" if measure in HIGHER_IS_BETTER else "loss"
    facts = (
        f"SSLSOP's mean {name} is {amount(table.loc[SSLSOP_NAME, 'mean'])}, that of one predictor trained on "
        f"the labelled points alone {amount(row['mean'])}; the difference is {amount(row['difference'])} "
        f"(95 % interval {span(row['difference_low'], row['difference_high'])}, "
        f"p = {probability(row['p'])} over {int(row['wins'] + row['ties'] + row['losses'])} folds)."
    )
    return {"SSLSOP better": "Yes. ", "SSLSOP worse": "No, it does harm. "}.get(
        standing(row, measure), "That cannot be told from these folds. "
    ) + facts


def ranking(table: pd.DataFrame, measure: str) -> str:
    """Which methods can be told from SSLSOP, and which cannot."""
    found: dict[str, list[str]] = {}
    for name, row in table.iterrows():
        if standing(row, measure):
            found.setdefault(standing(row, measure), []).append(str(name))
    words = {
        "SSLSOP better": "SSLSOP does better than",
        "SSLSOP worse": "SSLSOP does worse than",
        LEVEL: "SSLSOP cannot be distinguished from",
    }
    return " ".join(f"{words[key]} {_listed(found[key])}." for key in words if key in found)


def probability(p: float) -> str:
    """A p-value with the digits that matter.

    >>> probability(0.0312), probability(0.00002)
    ('0.031', '< 0.001')
    """
    return "-" if pd.isna(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
