"""The report of a reproduction: one HTML file with everything in it. Data in, text out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from ..datasets import Problem
from ..spaces import TreeLeaves
from .benchmarks import AUTHORS, Benchmark
from .cells import Cell
from .comparison import Comparison
from .fingerprints import versions
from .sweeps import Sweep

COLORS = ("#445fce", "#f18d24", "#009d7d", "#a80490", "#4db7f9", "#f33143", "#646300", "#7a4a1e")
SIGNIFICANT = 0.05

MEANING = """Mean over folds on test points (eq. 28), ± half of its 95 % interval, which allows for folds that
share training data (Nadeau and Bengio 2003) and may reach below zero. The paper's figures come from other
data and features, as told below: compare the order of methods, not digits. Its figure for SSLSOP stands
beside the algorithm as the paper has it, SSLSOP-paper."""
TIMES = """Seconds of one training with the chosen setting, median over folds, measured while other cells ran
beside it; tuning is not counted."""
PROTOCOL = """Every method sees the same folds and the same given outputs. Features are fitted on the training
part; settings are chosen by cross-validation inside the labelled part, and every method tries the same number
of them; test points and hidden outputs play no part. Beside these, SSLSOP's init="auto" is settled by trials
of its own on the labelled points, which no other method has. SSLSOP-paper tries values of the paper's own
parameters only: k, eta and C. Sensitivity is that of SSLSOP with all else as chosen on most folds, or at its
defaults without tuning; both differ from the paper's algorithm."""

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1a2030 }
body { max-width: 76rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; font-size: 0.9rem }
th, td { padding: 0.25rem 0.7rem; border-bottom: 1px solid #dfe3ec; text-align: right; white-space: nowrap }
th:first-child, td:first-child { text-align: left }
.wide { overflow-x: auto }
.note { color: #5a6478 }
"""


@dataclass(frozen=True, eq=False)
class Result:
    """What came of one benchmark."""

    benchmark: Benchmark
    problem: Problem
    comparison: Comparison
    sweeps: Mapping[str, Sweep]


def overview(results: Sequence[Result]) -> pd.DataFrame:
    """Average losses by method and benchmark, the paper's beside ours."""
    methods = list(dict.fromkeys(method for result in results for method in result.comparison.methods))
    columns: dict[str, list[str]] = {}
    for result in results:
        table, paper = result.comparison.table(), result.benchmark.paper
        columns[result.benchmark.name] = [_mean_of(table, method) for method in methods]
        if paper:
            columns[f"{result.benchmark.name}, paper"] = [
                f"{paper[method]:.3f}" if method in paper else "" for method in methods
            ]
    return pd.DataFrame(columns, index=pd.Index(methods, name="method"))


def _mean_of(table: pd.DataFrame, method: str) -> str:
    if method not in table.index or not table.loc[method, "folds"]:
        return "refused" if method in table.index and table.loc[method, "error"] else ""
    row = table.loc[method]
    return f"{row['mean']:.3f} ± {row['high'] - row['mean']:.3f}"


def markdown(table: pd.DataFrame) -> str:
    """A table for the terminal and for README files."""
    rows = [[str(table.index.name), *map(str, table.columns)], ["---"] * (1 + table.shape[1])]
    rows += [[str(name), *map(str, row)] for name, row in zip(table.index, table.to_numpy(), strict=True)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def verdict(result: Result) -> str:
    """What the comparison says of the reference, in a sentence or two."""
    table = result.comparison.table()
    name = table.index[0]
    others = table.iloc[1:].dropna(subset=["difference"])
    if not table.loc[name, "folds"] or others.empty:
        return "There is nothing to compare yet."
    below = others[others["difference"] > 0]
    sure = below[below["p"] < SIGNIFICANT]
    lost = others[(others["difference"] < 0) & (others["p"] < SIGNIFICANT)]
    text = f"{name} has the lower mean loss against {len(below)} of {len(others)} methods"
    text += f", with p < {SIGNIFICANT} against {len(sure)}"
    text += f" ({', '.join(sure.index)})." if len(sure) else "."
    above = others[others["difference"] <= 0]
    if len(above):
        text += f" Not lower than: {', '.join(above.index)}"
        text += f"; with p < {SIGNIFICANT} higher than {', '.join(lost.index)}." if len(lost) else "."
    return text


def details(result: Result) -> pd.DataFrame:
    """All that is known of each method on a benchmark."""
    comparison = result.comparison
    table = comparison.table()
    shown = pd.DataFrame(index=table.index)
    shown["loss"] = [_mean_of(table, method) for method in table.index]
    if isinstance(result.problem.space, TreeLeaves):
        height = float(result.problem.space.loss_matrix.max())
        shown["loss / height"] = _text(table["mean"] / height)
    for measure in comparison.measures[1:]:
        shown[measure] = _text(comparison.table(measure)["mean"])
    shown["loss, hidden outputs"] = _text(comparison.table(on="hidden")["mean"])
    shown["difference"] = [
        f"{d:+.3f} ({low:+.3f} to {high:+.3f})" if d == d else ""
        for d, low, high in zip(
            table["difference"], table["difference_low"], table["difference_high"], strict=True
        )
    ]
    shown["p"] = _text(table["p"])
    shown["p, Wilcoxon"] = _text(table["p_wilcoxon"])
    shown["wins/ties/losses"] = [
        f"{row.wins}/{row.ties}/{row.losses}" if row.difference == row.difference else ""
        for row in table.itertuples()
    ]
    shown["fit, s"] = _text(table["fit_seconds"], 2)
    shown["tuning, s"] = _text(table["tune_seconds"], 1)
    if table["error"].any():
        shown["refused because"] = table["error"]
    return shown


def _text(values: pd.Series, digits: int = 3) -> list[str]:
    return [f"{value:.{digits}f}" if value == value else "" for value in values]


def chosen(comparison: Comparison) -> pd.DataFrame:
    """The setting that tuning chose most often, per method, and the start of SSLSOP."""
    rows = {}
    for method in comparison.methods:
        cells = [cell for cell in comparison.cells if cell.method == method and not cell.error]
        settings = Counter(_setting(cell) for cell in cells)
        if settings:
            setting, times = settings.most_common(1)[0]
            rows[method] = {"chosen most often": setting, "folds": f"{times} of {len(cells)}"}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")


def _setting(cell: Cell) -> str:
    start = {"init": cell.init} if cell.init else {}
    return ", ".join(f"{name}={value}" for name, value in (start | cell.parameters).items()) or "as it comes"


# --- figures -----------------------------------------------------------------------------------------------
# Plotly takes text for HTML: names are escaped.


def losses_figure(result: Result) -> go.Figure:
    """Mean losses with their intervals, every fold as a dot, the paper's figure as a cross."""
    comparison, paper = result.comparison, result.benchmark.paper
    table = comparison.table().dropna(subset=["mean"])
    figure = go.Figure()
    for i, method in enumerate(table.index):
        folds = list(comparison.values(method).values())
        color, shown = COLORS[i % len(COLORS)], escape(method)
        figure.add_scatter(
            x=folds, y=[shown] * len(folds), mode="markers", marker={"color": color, "opacity": 0.35},
            name="a fold", hoverinfo="x", showlegend=False,
        )  # fmt: skip
        row = table.loc[method]
        figure.add_scatter(
            x=[row["mean"]], y=[shown], mode="markers", marker={"color": color, "size": 12},
            error_x={"array": [row["high"] - row["mean"]], "thickness": 2}, name=shown, showlegend=False,
        )  # fmt: skip
    known = [method for method in table.index if method in paper]
    if known:
        figure.add_scatter(
            x=[paper[method] for method in known], y=list(map(escape, known)), mode="markers",
            name="the paper's figure", marker={"symbol": "x", "color": "#5a6478", "size": 9},
        )  # fmt: skip
    figure.update_yaxes(autorange="reversed")
    return _laid_out(figure, "average loss on test points", 90 + 42 * len(table))


def sweep_figure(sweep: Sweep, name: str) -> go.Figure:
    """The mean loss over a parameter, with its band; the loss on hidden outputs dashed."""
    figure = go.Figure()
    for on, dash, color in (("new", "solid", COLORS[0]), ("hidden", "dash", COLORS[2])):
        table = sweep.table(on=on).dropna(subset=["mean"])
        x = table[name].tolist()
        label = "test points" if on == "new" else "hidden outputs"
        figure.add_scatter(
            x=x + x[::-1], y=table["high"].tolist() + table["low"].tolist()[::-1], fill="toself",
            line={"width": 0}, fillcolor=color, opacity=0.12, hoverinfo="skip", showlegend=False,
        )  # fmt: skip
        figure.add_scatter(x=x, y=table["mean"].tolist(), name=label, line={"color": color, "dash": dash})
    figure.update_xaxes(type="log")
    figure.update_yaxes(title="average loss", rangemode="tozero")
    return _laid_out(figure, name, 320)


def time_figure(results: Sequence[Result]) -> go.Figure:
    """Seconds of one training, by method and benchmark."""
    figure = go.Figure()
    methods = list(dict.fromkeys(method for result in results for method in result.comparison.methods))
    for i, method in enumerate(methods):
        seconds = {
            escape(result.benchmark.name): result.comparison.table()["fit_seconds"].get(method)
            for result in results
        }
        figure.add_scatter(
            x=list(seconds), y=list(seconds.values()), name=escape(method), mode="markers",
            marker={"size": 14, "color": COLORS[i % len(COLORS)], "opacity": 0.8},
        )  # fmt: skip
    figure.update_yaxes(title="seconds, median over folds", type="log")
    return _laid_out(figure, "", 380)


def _laid_out(figure: go.Figure, x_title: str, height: int) -> go.Figure:
    figure.update_xaxes(title=x_title)
    return figure.update_layout(
        template="plotly_white", height=height, margin={"l": 8, "r": 8, "t": 8, "b": 8},
        legend={"orientation": "h", "y": 1.1},
    )  # fmt: skip


# --- the page ----------------------------------------------------------------------------------------------


def html_report(results: Sequence[Result], facts: Mapping[str, Any], skipped: Mapping[str, str]) -> str:
    """The whole page. `facts` are shown as they are; `skipped` says why benchmarks are not there."""
    body = [
        "<h1>SSLSOP: the paper's experiments, repeated</h1>",
        _facts(facts),
        f"<p class='note'>{escape(', '.join(f'{name} {number}' for name, number in versions().items()))}</p>",
        "<h2>Average losses</h2>",
        _table(overview(results)),
        f"<p class='note'>{MEANING}</p>",
        *(f"<p><b>{escape(name)}</b> is missing: {escape(why)}</p>" for name, why in skipped.items()),
    ]
    for result in results:
        body += _section(result)
    body += ["<h2>Running time</h2>", _figure(time_figure(results))]
    body += [
        f"<p class='note'>{TIMES}</p>",
        "<h2>Methods</h2><ul>",
        *(f"<li>{escape(name)}: {escape(author)}</li>" for name, author in AUTHORS.items()),
        f"</ul><p>{PROTOCOL}</p>",
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>SSLSOP: report</title>'
        f"<style>{STYLE}</style><script>{get_plotlyjs()}</script></head><body>"
        + "\n".join(body)
        + "</body></html>\n"
    )


def _section(result: Result) -> list[str]:
    benchmark, problem = result.benchmark, result.problem
    parts = [
        f"<h2>{escape(': '.join(filter(None, (benchmark.name, benchmark.title))))}</h2>",
        f"<p class='note'>{len(problem)} points, {problem.d} features, {escape(repr(problem.space))}</p>",
        f"<p>{escape(verdict(result))}</p>",
        _figure(losses_figure(result)),
        _table(details(result)),
        _table(chosen(result.comparison)),
    ]
    if benchmark.differences:
        parts.append("<h3>What differs from the paper, and why</h3><ul>")
        parts += [f"<li>{escape(text)}</li>" for text in benchmark.differences]
        parts.append("</ul>")
    for name, sweep in result.sweeps.items():
        parts += [f"<h3>Sensitivity to {escape(name)}</h3>", _figure(sweep_figure(sweep, name))]
    return parts


def _facts(facts: Mapping[str, Any]) -> str:
    rows = "".join(f"<li>{escape(name)}: {escape(str(value))}</li>" for name, value in facts.items())
    return f"<ul class='note'>{rows}</ul>"


def _table(table: pd.DataFrame) -> str:
    rows = table.reset_index().to_html(index=False, border=0, escape=True, na_rep="")
    return f"<div class='wide'>{rows}</div>"


def _figure(figure: go.Figure) -> str:
    # plotly.js is in the head of the page, once.
    return figure.to_html(full_html=False, include_plotlyjs=False, config={"displaylogo": False})
