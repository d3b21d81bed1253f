"""The eight steps of the Learn page: what is said, which equation it is, and what is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

from sslsop_core import datasets
from sslsop_core.datasets import Problem
from sslsop_core.primal import local_outputs, local_weights

from . import lesson_figures as pictures
from .map_view import show_map
from .maps import Maps
from .run_map import map_of
from .runs import Run
from .settings import Settings

POINT = 144  # whose neighborhood is shown: near both moons
BASE = Settings(data="moons", k=8, intercept=True, max_iter=30)


@dataclass(frozen=True)
class Lesson:
    """One step: a title, a few words, an equation of the paper with its number, and what to draw."""

    title: str
    words: str
    equation: str
    number: str
    show: Callable[[bool], None]


# --- what the lessons run on -------------------------------------------------------------------------


@st.cache_resource(show_spinner=False)
def moons() -> tuple[Problem, list[Any]]:
    problem = datasets.load("moons", n=160)
    return problem, problem.hide(per_class=2, seed=0)


@st.cache_resource(show_spinner=False)
def spirals() -> tuple[Problem, list[Any]]:
    problem = datasets.load("spirals", n=180)
    return problem, problem.hide(per_class=4, seed=3)


def third() -> tuple[Problem, list[Any]]:
    """The moons with a third of the labels, so that one neighborhood has enough of both."""
    problem, _ = moons()
    return problem, problem.hide(labeled=0.3, seed=0)


def corner() -> tuple[Problem, list[Any]]:
    """The moons with all labels at one end."""
    problem, _ = moons()
    far = np.argsort(-problem.X[:, 0])
    given: list[Any] = [None] * len(problem)
    for name in problem.space.names:
        for i in [i for i in far if problem.y[i] == name][:2]:
            given[i] = name
    return problem, given


CASES: dict[str, Callable[[], tuple[Problem, list[Any]]]] = {
    "moons": moons,
    "third": third,
    "spirals": spirals,
    "corner": corner,
}


@st.cache_resource(max_entries=60, show_spinner=False)
def finished(case: str, settings: Settings) -> Run:
    """A run on one of the lesson's problems, trained to the end: it takes milliseconds."""
    problem, given = CASES[case]()
    run = Run(problem, given, settings, key=case)
    run.go()
    run.wait()
    return run


def draw_run(key: str, run: Run, big: bool, height: int) -> None:
    """The map of a finished run, to be played."""
    drawn = map_of(run, Maps())
    geometry = drawn.geometry()
    over = drawn.overlay([]) | {"selectable": False, "note": ""}
    show_map(key, geometry, drawn.frames(live=False), over, height=height, big=big)


def wrong(run: Run) -> str:
    loss = run.turns[-1].loss
    return "unknown" if loss is None else f"{loss:.0%}"


# --- the steps ---------------------------------------------------------------------------------------


def few_labels(big: bool) -> None:
    problem, given = moons()
    st.plotly_chart(_points(problem, problem.space.encode(given), given), key="few")


def neighborhoods(big: bool) -> None:
    k = st.slider("Neighborhood size k", 2, 30, 8, key="lesson k")
    problem, given = moons()
    run = finished("moons", replace(BASE, k=k))
    figure = _points(problem, problem.space.encode(given), given)
    neighbors = run.model.graph_.neighbors[POINT]
    st.plotly_chart(pictures.add_neighborhood(figure, problem.X, POINT, neighbors), key="near")


def joint(big: bool) -> None:
    problem, _ = moons()
    x = np.round(problem.X[POINT], 2)
    blocks = np.stack(
        [problem.space.joint_feature(x, name).reshape(len(x), -1).T.ravel() for name in problem.space.names]
    )
    st.plotly_chart(pictures.joint_feature(x, blocks, list(map(str, problem.space.names))), key="joint")
    st.caption(
        "A tree marks all nodes on the path to the leaf; a sequence adds one block per token and counts "
        "which tag follows which."
    )


def bounded(big: bool) -> None:
    st.plotly_chart(pictures.bound(), key="bound")


def one_predictor(big: bool) -> None:
    turns = st.slider("Iterations", 1, 40, 25, key="lesson t")
    problem, given = third()
    run = finished("third", replace(BASE, k=20, max_iter=turns, eta=0.5, weights="uniform"))
    codes = run.turns[-1].iteration.outputs
    figure = _points(problem, codes, given)
    pictures.add_neighborhood(figure, problem.X, POINT, run.model.graph_.neighbors[POINT])
    st.plotly_chart(pictures.add_border(figure, problem.X, local_weights(run.model, POINT)), key="line")


def two_steps(big: bool) -> None:
    slow = replace(BASE, eta=0.2, weights="uniform")
    for column, step in zip(st.columns(2), ("exact", "paper"), strict=True):
        run = finished("moons", replace(slow, output_step=step))
        with column:
            st.markdown(
                f"**{step.capitalize()} step** · {run.turns[-1].iteration.n_changed} outputs still move"
            )
            draw_run(f"step {step}", run, big, 300)


def local_and_global(big: bool) -> None:
    problem, given = spirals()
    local = Settings(data="spirals", k=8, intercept=True, max_iter=30)
    everyone = replace(local, k=len(problem), weights="uniform")
    cases = {"One predictor for all points": everyone, "A predictor per neighborhood": local}
    for column, (title, settings) in zip(st.columns(2), cases.items(), strict=True):
        run = finished("spirals", settings)
        figure = _points(problem, run.turns[-1].iteration.outputs, given, height=380)
        across, up, codes = regions(settings)
        with column:
            st.markdown(f"**{title}** · {wrong(run)} wrong")
            st.plotly_chart(pictures.add_regions(figure, across, up, codes), key=title)


@st.cache_data(max_entries=8, show_spinner=False)
def regions(settings: Settings) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What the spirals' model says on a grid."""
    run = finished("spirals", settings)
    across, up, nodes = pictures.grid(run.problem.X)
    if settings.k >= len(run.problem):  # all predictors are nearly equal: ask one
        return across, up, local_outputs(run.model, 0, nodes)
    return across, up, run.problem.space.encode(list(run.model.predict(nodes)))


BREAKS = {
    "k too small": (
        "moons",
        replace(BASE, k=2),
        "The graph falls into pieces, and most points are never reached: they stay grey.",
    ),
    "Labels in one corner": (
        "corner",
        BASE,
        "Far from every label mistakes pass on like labels do: nothing corrects them.",
    ),
    "eta too small": (
        "moons",
        replace(BASE, eta=0.2, weights="uniform", output_step="paper"),
        "With the paper's output step and timid predictors, outputs flip for ever.",
    ),
}


def what_breaks(big: bool) -> None:
    name = st.segmented_control(
        "What goes wrong",
        list(BREAKS),
        default="k too small",
        required=True,
        label_visibility="collapsed",
        key="breaks",
    )
    case, settings, words = BREAKS[name or "k too small"]
    run = finished(case, settings)
    st.markdown(f"{words} **{wrong(run)} wrong**, {run.turns[-1].iteration.n_unreached} not reached.")
    draw_run(f"break {name}", run, big, 320)


def _points(problem: Problem, codes: np.ndarray, given: list[Any], height: int = 400) -> Any:
    return pictures.plane(problem.X, codes, np.array([y is not None for y in given]), height=height)


LESSONS = (
    Lesson(
        "Few labels",
        "Two moons, 160 points. **Four** of them come with an output, the ringed ones. All the others, grey, "
        "we have to find out.",
        r"y_i = \overline{y}_i \quad \text{where an output is given}",
        "3",
        few_labels,
    ),
    Lesson(
        "Neighborhoods",
        "Every point looks at its **k nearest** points only. Points that are near each other are likely to "
        "have the same output, even where the whole picture is twisted.",
        r"\mathcal{N}_i = \{x_j : x_j \text{ is among the } k \text{ nearest of } x_i\}",
        "1",
        neighborhoods,
    ),
    Lesson(
        "Input and output together",
        "A **joint feature** puts the features of x into the place of y. One inner product with w then "
        "scores any pair, and the best y wins. That is how classes, trees and sequences are all the same to "
        "the method.",
        r"y^* = \arg\max_{y} \; w_i^\top \Phi(x, y)",
        "2",
        joint,
    ),
    Lesson(
        "A bound in place of the loss",
        "Right or wrong has no slope to follow. The **upper bound** has: it asks the right output to win by "
        "as much as the mistake would cost, and it is never below the loss.",
        r"\max_{y'} \left[ w_i^\top(\Phi(x_j,y') - \Phi(x_j,y_j)) + \Delta(y_j,y') \right] "
        r"\ge \Delta(y_j, y^*_j)",
        "5",
        bounded,
    ),
    Lesson(
        "The step on w",
        "Each neighborhood moves **its own predictor** towards its present outputs, away from the worst "
        "rivals z. The line is where the starred point's predictor changes its mind: it need only be right "
        "nearby.",
        r"w_i \leftarrow (1-\eta C)\, w_i + \frac{\eta}{k} \sum_{x_j \in \mathcal{N}_i} "
        r"\left[ \Phi(x_j,y_j) - \Phi(x_j,z_{ij}) \right]",
        "12",
        one_predictor,
    ),
    Lesson(
        "The step on outputs",
        "A missing output takes what the neighborhoods around it agree on. The paper holds the rivals z "
        "fixed meanwhile; with timid predictors such outputs **flip for ever**. The exact step lets z "
        "follow, and settles. Press play on both.",
        r"y_i = \arg\min_{y} \sum_{i' : x_i \in \mathcal{N}_{i'}} \frac{1}{k} "
        r"\left[ \Delta(y, z_{i'i}) - w_{i'}^\top \Phi(x_i, y) \right]",
        "16",
        two_steps,
    ),
    Lesson(
        "Why local beats global",
        "Three arms that no straight cuts can part. One linear predictor for all fails; many small ones, "
        "each right **only nearby**, follow the arms. A new point asks the predictors of its neighbors.",
        r"y^* = \arg\max_{y} \frac{1}{k} \sum_{x_i \in \mathcal{N}_x} w_i^\top \Phi(x, y)",
        "21",
        local_and_global,
    ),
    Lesson(
        "What breaks it",
        "Nothing comes for free. Three ways to make it fail, and how the failure looks:",
        "",
        "",
        what_breaks,
    ),
)
