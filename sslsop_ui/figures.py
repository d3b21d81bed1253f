"""Plotly figures as pure functions: data in, figure out. Colours of text and ground are the theme's.

Plotly takes text for HTML: names from data are escaped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from sslsop_core import OutputSpace, TreeLeaves
from sslsop_core.splits import symbols_of

from .palette import COLORS, GREY, color_of

DASHES = ("solid", "dash", "dot", "dashdot", "longdash")  # lines are told apart without colour too
MARGIN = {"l": 8, "r": 8, "t": 8, "b": 8}
# Where a legend is in the way of no title of an axis, however many lines it takes.
ABOVE = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}


def styled(figure: go.Figure, height: int, **layout: Any) -> go.Figure:
    """The size and the margins of all figures."""
    return figure.update_layout(height=height, margin=MARGIN, **layout)


def balance(space: OutputSpace, y: Sequence[Any], given: Sequence[Any]) -> go.Figure:
    """How often each class, leaf, tag or label occurs: given, hidden, in one bar."""
    total, shown = _count(space, y), _count(space, given)
    names = [escape(str(name)) for name in space.names]
    hidden = [max(a - b, 0) for a, b in zip(total, shown, strict=True)]
    figure = go.Figure(
        [
            go.Bar(x=names, y=shown, name="given", marker_color=COLORS[0]),
            go.Bar(x=names, y=hidden, name="hidden", marker_color=GREY, opacity=0.55),
        ]
    )
    figure.update_layout(barmode="stack", legend={"orientation": "h", "y": 1.12, "x": 0}, bargap=0.25)
    figure.update_xaxes(type="category", tickangle=0 if len(names) <= 12 else -40)
    return styled(figure, 260, hovermode="x unified")


def _count(space: OutputSpace, outputs: Sequence[Any]) -> list[int]:
    counts = Counter(symbol for output in outputs if output is not None for symbol in symbols_of(output))
    keys: Sequence[Any] = range(len(space)) if space.kind == "labelsets" else space.names
    return [counts[key] for key in keys]


def tree(space: TreeLeaves, y: Sequence[Any]) -> go.Figure:
    """The tree of outputs from root to leaves; widths are numbers of points."""
    counts = Counter(output for output in y if output is not None)
    below = dict.fromkeys(space.nodes, 0)
    for leaf in space.names:
        for node in space.path(leaf):
            below[node] += counts[leaf]
    colors = [color_of(space.names.index(node)) if node in space.names else GREY for node in space.nodes]
    figure = go.Figure(
        go.Sunburst(
            ids=[str(node) for node in space.nodes],
            labels=[
                escape(str(node).rpartition(".")[2] if node != space.root else str(node))
                for node in space.nodes
            ],
            parents=[str(space.parents.get(node, "")) for node in space.nodes],
            values=[below[node] for node in space.nodes],
            branchvalues="total",
            marker={"colors": colors},
            leaf={"opacity": 0.95},
        )
    )
    return styled(figure, 340)


def scatter(X: np.ndarray, codes: np.ndarray, names: Sequence[str], height: int = 360) -> go.Figure:
    """Points of two features in the colours of their outputs; -1 is grey."""
    figure = go.Figure()
    for code in [-1, *range(len(names))]:
        rows = codes == code
        if rows.any():
            figure.add_scatter(
                x=X[rows, 0],
                y=X[rows, 1],
                mode="markers",
                name=escape(names[code]) if code >= 0 else "hidden",
                marker={
                    "color": color_of(code),
                    "size": 6 if code < 0 else 9,
                    "opacity": 0.6 if code < 0 else 1,
                },
            )
    figure.update_yaxes(scaleanchor="x", scaleratio=1)
    return styled(figure, height, legend={"orientation": "h", "y": -0.08})


def run_history(turns: Sequence[Any]) -> go.Figure:
    """Objective, and below it the loss on the hidden outputs where it is known, over the iterations."""
    t = [turn.iteration.t for turn in turns]
    known = bool(turns) and turns[0].loss is not None
    figure = make_subplots(rows=1 + known, shared_xaxes=True, vertical_spacing=0.1)
    figure.add_scatter(
        x=t, y=[turn.iteration.objective for turn in turns], name="objective", line_color=COLORS[0]
    )
    figure.update_yaxes(title="objective", nticks=4)
    if known:
        line = {"color": COLORS[1], "dash": "dash"}
        losses = [turn.loss for turn in turns]
        figure.add_scatter(x=t, y=losses, name="loss on hidden outputs", line=line, row=2, col=1)
        figure.update_yaxes(title="hidden loss", nticks=4, rangemode="tozero", row=2, col=1)
    figure.update_xaxes(title="iteration", row=1 + known, col=1)
    return styled(figure, 320, showlegend=False)


def histories(lines: Mapping[str, Sequence[float]], title: str) -> go.Figure:
    """One quantity over the iterations of several runs."""
    figure = go.Figure()
    for number, (name, values) in enumerate(lines.items()):
        figure.add_scatter(
            x=list(range(1, len(values) + 1)),
            y=values,
            name=escape(name),
            mode="lines",
            line={"color": color_of(number), "dash": DASHES[number % len(DASHES)]},
        )
    figure.update_xaxes(title="iteration")
    figure.update_yaxes(title=title, rangemode="tozero")
    return styled(figure, 240, showlegend=len(lines) > 1, legend=ABOVE)
