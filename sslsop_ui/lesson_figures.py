"""The pictures of the Learn page, as pure functions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from .palette import COLORS, GREY, color_of

MARGIN = {"l": 8, "r": 8, "t": 30, "b": 8}
RING = "#6b7488"  # around labelled points, visible on light and dark
STEPS = 70  # of the grid that regions are coloured on


def frame_of(X: np.ndarray, pad: float = 0.25) -> tuple[tuple[float, float], tuple[float, float]]:
    """Ranges of both axes around the points."""
    (left, bottom), (right, top) = X.min(axis=0) - pad, X.max(axis=0) + pad
    return (float(left), float(right)), (float(bottom), float(top))


def grid(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both axes of a grid over the points, and its nodes as rows."""
    (left, right), (bottom, top) = frame_of(X)
    across, up = np.linspace(left, right, STEPS), np.linspace(bottom, top, STEPS)
    return across, up, np.column_stack([np.tile(across, STEPS), np.repeat(up, STEPS)])


def plane(
    X: np.ndarray, codes: np.ndarray, labeled: np.ndarray, title: str = "", height: int = 400
) -> go.Figure:
    """Points on their own axes: labelled ones large and ringed, without output grey."""
    figure = go.Figure()
    for given in (False, True):
        rows = labeled == given
        figure.add_scatter(
            x=X[rows, 0],
            y=X[rows, 1],
            mode="markers",
            showlegend=False,
            hoverinfo="skip",
            marker={
                "color": [color_of(code) for code in codes[rows]],
                "size": 15 if given else 8,
                "line": {"width": 2.5 if given else 0, "color": RING},
            },
        )
    across, up = frame_of(X)
    figure.update_xaxes(range=across, showgrid=False, zeroline=False, showticklabels=False)
    figure.update_yaxes(range=up, showgrid=False, zeroline=False, showticklabels=False)
    return figure.update_layout(height=height, margin=MARGIN, title={"text": title, "x": 0.5, "y": 0.98})


def add_neighborhood(figure: go.Figure, X: np.ndarray, i: int, neighbors: np.ndarray) -> go.Figure:
    """Lines from a point to its neighbors."""
    ends = np.full((3 * len(neighbors), 2), np.nan)
    ends[0::3], ends[1::3] = X[i], X[neighbors]
    line = {"color": COLORS[5], "width": 2}
    figure.add_scatter(
        x=ends[:, 0], y=ends[:, 1], mode="lines", line=line, showlegend=False, hoverinfo="skip"
    )
    star = {"color": COLORS[5], "size": 18, "symbol": "star"}
    return figure.add_scatter(x=[X[i, 0]], y=[X[i, 1]], mode="markers", marker=star, showlegend=False)


def add_border(figure: go.Figure, X: np.ndarray, W: np.ndarray) -> go.Figure:
    """Where a predictor of two classes, with intercept, changes its mind."""
    a, b, c = W[:, 0] - W[:, 1]
    (left, right), (bottom, top) = frame_of(X)
    if abs(a) + abs(b) < 1e-12:
        return figure
    if abs(b) >= abs(a):
        across = np.array([left, right])
        ends = np.column_stack([across, -(a * across + c) / b])
    else:
        up = np.array([bottom, top])
        ends = np.column_stack([-(b * up + c) / a, up])
    line = {"color": COLORS[3], "width": 4}
    return figure.add_scatter(x=ends[:, 0], y=ends[:, 1], mode="lines", line=line, showlegend=False)


def add_regions(figure: go.Figure, across: np.ndarray, up: np.ndarray, codes: np.ndarray) -> go.Figure:
    """The colour of every place on the map; -1 stays empty."""
    n = int(codes.max()) + 1
    scale = [[edge, color_of(c)] for c in range(n) for edge in (c / n, (c + 1) / n)]
    z = np.where(codes < 0, np.nan, codes).reshape(len(up), len(across))
    figure.add_heatmap(
        x=across,
        y=up,
        z=z,
        zmin=-0.5,
        zmax=n - 0.5,
        colorscale=scale,
        opacity=0.28,
        showscale=False,
        hoverinfo="skip",
    )
    figure.data = (figure.data[-1], *figure.data[:-1])  # under the points
    return figure


def joint_feature(x: Sequence[float], blocks: np.ndarray, names: Sequence[str]) -> go.Figure:
    """Phi(x, y) for every y, a row each: the features of x stand in the block of y, zeros elsewhere."""
    columns = [f"{name}: x{j + 1}" for name in names for j in range(len(x))]
    figure = go.Figure(
        go.Heatmap(
            z=blocks,
            x=columns,
            y=[f"Phi(x, {name})" for name in names],
            text=np.round(blocks, 2),
            xgap=3,
            ygap=3,
            texttemplate="%{text}",
            zmid=0,
            showscale=False,
            colorscale=[[0, COLORS[1]], [0.5, "#eef0f6"], [1, COLORS[0]]],
        )
    )
    return figure.update_layout(height=300, margin=MARGIN)


def bound() -> go.Figure:
    """The 0-1 loss of a margin, and what is minimised in its place."""
    margin = np.linspace(-2, 2, 201)
    figure = go.Figure()
    figure.add_scatter(
        x=margin,
        y=(margin < 0).astype(float),
        name="loss: wrong or right",
        line={"color": GREY, "width": 4, "shape": "hv"},
    )
    figure.add_scatter(
        x=margin,
        y=np.maximum(0, 1 - margin),
        name="upper bound (eq. 6)",
        line={"color": COLORS[3], "width": 4},
    )
    figure.update_xaxes(title="score of the right output minus score of the best other")
    return figure.update_layout(height=380, margin=MARGIN, legend={"orientation": "h", "y": 1.12})
