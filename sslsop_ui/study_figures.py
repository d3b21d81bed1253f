"""Figures of comparisons and sweeps: data in, figure out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.colors import hex_to_rgb

from sslsop_core.evaluation import Comparison

from .figures import ABOVE, DASHES, styled
from .palette import color_of

SYMBOLS = (
    "circle",
    "square",
    "diamond",
    "cross",
    "x",
    "triangle-up",
    "triangle-down",
    "star",
    "hexagon",
    "pentagon",
)
# Dark is low, as is its loss; stays apart in grey and for every kind of colour vision.
SCALE = "Viridis"
SECONDS = ("tune_seconds", "fit_seconds", "predict_seconds")


def symbol_of(number: int) -> str:
    return SYMBOLS[number % len(SYMBOLS)]


def boxes(comparison: Comparison, methods: Sequence[str], measure: str, on: str) -> go.Figure:
    """A box per method over its folds, with the folds as points."""
    figure = go.Figure()
    for number, method in enumerate(methods):
        values = comparison.values(method, measure, on)
        figure.add_box(
            x=list(values.values()), name=method, boxpoints="all", jitter=0.5, pointpos=0,
            text=[f"fold {fold + 1}" for fold in values], hovertemplate="%{x:.4f}<br>%{text}<extra></extra>",
            marker={"color": color_of(number), "symbol": symbol_of(number), "size": 6}, line={"width": 1.5},
        )  # fmt: skip
    figure.update_yaxes(autorange="reversed", type="category", categoryarray=list(methods))
    figure.update_xaxes(title=measure, rangemode="tozero")
    return styled(figure, 90 + 44 * len(methods), showlegend=False)


def loss_and_time(table: pd.DataFrame, methods: Sequence[str], measure: str) -> go.Figure:
    """Mean measure with its interval against the seconds that a fold takes; low and left is good."""
    figure, tuned = go.Figure(), bool((table["tune_seconds"] > 0).any())
    for number, method in enumerate(methods):
        if method not in table.index or pd.isna(table.loc[method, "mean"]):
            continue
        row = table.loc[method]
        reach = None if pd.isna(row["low"]) else {"array": [row["high"] - row["mean"]], "width": 3}
        figure.add_scatter(
            x=[row[list(SECONDS)].sum()], y=[row["mean"]], error_y=reach, name=method,
            mode="markers", hovertemplate="%{x:.2f} s, %{y:.4f}",
            marker={"color": color_of(number), "symbol": symbol_of(number), "size": 11},
        )  # fmt: skip
    ticks = _seconds_to_write([line.x[0] for line in figure.data])
    what = "tune, train and predict" if tuned else "train and predict"
    figure.update_xaxes(title=f"seconds to {what} (median)", type="log")
    figure.update_xaxes(tickvals=ticks, ticktext=[f"{seconds:g}" for seconds in ticks])
    figure.update_yaxes(title=measure)
    return styled(figure, 360, legend=ABOVE)


def _seconds_to_write(seconds: Sequence[float]) -> list[float]:
    """Values at an axis of seconds; over many powers of ten fewer, or they are in each other's way."""
    wide = bool(seconds) and max(seconds) > 30 * min(seconds)
    digits = (1,) if wide else (1, 2, 5)
    return [float(f"{digit}e{power}") for power in range(-3, 5) for digit in digits]


def curves(
    lines: Mapping[str, pd.DataFrame],
    x: str,
    title: str,
    measure: str,
    *,
    log: bool = True,
    height: int = 360,
) -> go.Figure:
    """Means with their bands over a parameter, a line per name.

    Parameters
    ----------
    lines : name -> table with the columns `x`, mean, low and high.
    """
    figure = go.Figure()
    for number, (name, table) in enumerate(lines.items()):
        table = table.dropna(subset=["mean"])
        color = color_of(number)
        band = table.dropna(subset=["low", "high"])
        low = band["low"].clip(lower=0)  # no measure is below zero, whatever its interval
        figure.add_scatter(
            x=[*band[x], *band[x][::-1]], y=[*band["high"], *low[::-1]], fill="toself", mode="lines",
            line_width=0, fillcolor="rgba({}, {}, {}, 0.14)".format(*hex_to_rgb(color)), hoverinfo="skip",
            showlegend=False, legendgroup=name,
        )  # fmt: skip
        figure.add_scatter(
            x=table[x], y=table["mean"], name=name, legendgroup=name, mode="lines+markers",
            line={"color": color, "dash": DASHES[number % len(DASHES)]},
            marker={"symbol": symbol_of(number), "size": 8}, hovertemplate="%{x}: %{y:.4f}",
        )  # fmt: skip
    ticks = sorted({value for table in lines.values() for value in table[x]})
    figure.update_xaxes(
        title=title, type="log" if log else "linear", tickvals=ticks, ticktext=[f"{v:g}" for v in ticks]
    )
    figure.update_yaxes(title=measure, rangemode="tozero")
    return styled(figure, height, showlegend=len(lines) > 1, legend=ABOVE, hovermode="closest")


def heat(
    matrix: pd.DataFrame, titles: tuple[str, str], of: str, *, high: float | None = None,
    now: tuple[Any, Any] | None = None, form: str = ".3f",
) -> go.Figure:  # fmt: skip
    """A matrix as a heat map whose cells can be clicked: rows down, columns across.

    Parameters
    ----------
    titles : of rows and columns.
    high : the value of the brightest colour, where several maps shall have the same.
    now : the cell of the present settings, which gets a ring.
    """
    rows, columns = [f"{v:g}" for v in matrix.index], [f"{v:g}" for v in matrix.columns]
    texts = [[("" if pd.isna(v) else format(v, form)) for v in line] for line in matrix.to_numpy()]
    figure = go.Figure(
        go.Heatmap(
            z=matrix.to_numpy(), x=columns, y=rows, text=texts, texttemplate="%{text}", colorscale=SCALE,
            zmin=None if high is None else 0.0, zmax=high, xgap=2, ygap=2, hoverinfo="skip",
            colorbar={"title": of, "thickness": 12},
        )
    )  # fmt: skip
    # Plotly selects points, not cells of a heat map: each cell has a point that nobody sees.
    spots = [(row, column) for row in range(len(rows)) for column in range(len(columns))]
    figure.add_scatter(
        x=[columns[column] for _, column in spots], y=[rows[row] for row, _ in spots], mode="markers",
        customdata=[[matrix.index[row], matrix.columns[column]] for row, column in spots],
        text=[texts[row][column] or "not yet" for row, column in spots], showlegend=False,
        hovertemplate=f"{titles[0]} %{{y}}, {titles[1]} %{{x}}: {of} %{{text}}<extra>click to train</extra>",
        marker={"size": 30, "symbol": "square", "opacity": 0},
    )  # fmt: skip
    if now is not None and now[0] in matrix.index and now[1] in matrix.columns:
        figure.add_scatter(
            x=[f"{now[1]:g}"], y=[f"{now[0]:g}"], mode="markers", hoverinfo="skip", showlegend=False,
            marker={"symbol": "circle-open", "size": 34, "color": "#ffffff", "line": {"width": 3}},
        )  # fmt: skip
    figure.update_xaxes(title=titles[1], type="category", showgrid=False)
    figure.update_yaxes(title=titles[0], type="category", showgrid=False)
    return styled(figure, 130 + 38 * len(rows), clickmode="event+select", dragmode=False)
