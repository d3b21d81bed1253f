"""The parameters of a run as widgets in the sidebar, each with what it does in plain words."""

from __future__ import annotations

from typing import Any

import streamlit as st

from sslsop_core.datasets import Problem
from sslsop_core.estimate import free_memory, require_fit

from . import state
from .settings import ANCHORS, AS_DATA

C_VALUES = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3]
ETA_VALUES: list[float | str] = ["auto", 0.1, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0]
USUAL_TURNS = 100
ESTIMATING = "Estimating the time ..."  # it takes seconds when a method is met for the first time
WORDS = {
    "exact": "Exact: never raises the objective",
    "paper": "Paper: eq. 16 to the letter",
    "spread": "Unknown until reached",
    "guided": "Unknown until reached, guided by an SVM",
    "hybrid": "Unknown until reached, guided by a hybrid",
    "hinted": "Unknown until reached, with a hint of a hybrid",
    "auto": "The best of these in trials",
    "nearest": "As the nearest labelled point",
    "global": "From one predictor of the labelled points",
    "random": "At random",
    "heat": "Near neighbors count more",
    "uniform": "All neighbors count alike (paper)",
    "linear": "Linear",
    "rbf": "Gaussian (RBF)",
    "euclidean": "Euclidean",
    "cosine": "Cosine",
}


def parameters(problem: Problem) -> None:
    """k, C, eta and T; the rest behind a fold."""
    st.subheader("Algorithm", anchor=False)
    most = max(3, min(100, len(problem)))
    if state.settings().k > most:
        state.change(k=most)
    st.slider(
        "Neighborhood size k",
        2,
        most,
        key=state.key_of("k"),
        persist_state="session",
        help="How many nearest points share one local predictor. Small: sharp borders, slow spread, "
        "perhaps unreached points. Large: smooth, but neighborhoods reach across borders.",
    )
    st.select_slider(
        "Simplicity C",
        _with(C_VALUES, "C"),
        key=state.key_of("C"),
        persist_state="session",
        help="Weight of |w|². **Larger means simpler predictors: the opposite of C in most SVM libraries.**",
    )
    st.select_slider(
        "Step size eta",
        _with(ETA_VALUES, "eta"),
        key=state.key_of("eta"),
        persist_state="session",
        help="How far each predictor moves in one iteration. From 1 to 20 suits most data; with the "
        "paper's output step a small one lets outputs flip for ever. auto is 1 / (C t).",
    )
    st.slider(
        "Iterations T",
        1,
        max(USUAL_TURNS, state.settings().max_iter),  # a link may ask for more
        key=state.key_of("max_iter"),
        persist_state="session",
        help="At most so many; training ends earlier when nothing moves any more.",
    )
    with st.expander("Advanced", icon=":material/tune:"):
        _advanced(problem)


def _advanced(problem: Problem) -> None:
    _choice(
        "Output step",
        "output_step",
        ["exact", "paper"],
        "How a missing output is chosen. Exact minimises the objective itself; the paper's step holds "
        "the violating outputs z fixed, and may flip for ever when eta is small.",
    )
    _choice(
        "Start of missing outputs",
        "init",
        ["spread", "guided", "hybrid", "hinted", "auto", "global", "nearest", "random"],
        "Unknown until reached lets you watch outputs spread. Guided by one predictor they spread as well: "
        "an SVM of the labelled points, or a hybrid with generative models that learns from the unlabelled "
        "ones too, and that neighbors overrule if it is only a hint. Trials choose among these on given "
        "outputs that are hidden in turn.",
    )
    own = f"As suits the data ({problem.metric})"
    _choice(
        "Metric",
        "metric",
        [AS_DATA, "euclidean", "cosine"],
        "The distance that decides who is a neighbor.",
        {AS_DATA: own},
    )
    _choice(
        "Weights of neighbors",
        "weights",
        ["heat", "uniform"],
        "How much a neighbor counts inside a neighborhood.",
    )
    _choice("Kernel", "kernel", ["linear", "rbf"], "Linear predictors, or smooth curved ones.")
    _choice(
        "Pull of predictors",
        "anchor",
        list(ANCHORS),
        "Where C pulls the predictors, if they start from a shared one: back to it, which keeps rare outputs "
        "alive in sequences, or towards zero. As suits the data, those of sequences are pulled to the start.",
        {"auto": "As suits the data", True: "Towards the start", False: "Towards zero"},
    )
    st.toggle(
        "Intercept",
        key=state.key_of("intercept"),
        persist_state="session",
        help="Gives every predictor a constant term, so that its border need not pass through 0.",
    )
    st.number_input(
        "Seed",
        0,
        10_000,
        key=state.key_of("random_state"),
        persist_state="session",
        help="Of the few random draws; the same seed gives the same run.",
    )
    st.button("Reset all parameters", on_click=state.reset, icon=":material/restart_alt:", width="stretch")


def _choice(
    label: str, name: str, options: list[Any], help: str, words: dict[Any, str] | None = None
) -> None:
    named: dict[Any, str] = WORDS | (words or {})
    st.selectbox(
        label,
        options,
        key=state.key_of(name),
        format_func=named.__getitem__,
        help=help,
        persist_state="session",
    )


def _with(values: list[Any], name: str) -> list[Any]:
    """The steps of a slider, and the present value if a link asked for another one."""
    now = getattr(state.settings(), name)
    if now in values:
        return values
    numbers = sorted([*(v for v in values if v != "auto"), now])
    return [*(v for v in values if v == "auto"), *numbers]


def cost(problem: Problem) -> bool:
    """Say what the run will take; False if it cannot fit."""
    now = state.settings()
    try:
        with st.spinner(ESTIMATING):
            expected = now.model(problem.space, problem.metric).estimate(problem.X, state.given())
    except ValueError:
        return True  # the run itself says what is wrong
    try:
        require_fit(expected, free_memory())
    except ValueError as error:
        st.error(str(error), icon=":material/memory:")
        return False
    st.caption(
        f":material/schedule: about {duration(expected.seconds(now.max_iter))} · "
        f":material/memory: {max(expected.memory, 2**20) / 2**20:,.0f} MiB",
        help="From a small run, good to a factor of about two. The first run after a start also compiles.",
    )
    return True


def duration(seconds: float) -> str:
    return "a second" if seconds < 1.5 else f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
