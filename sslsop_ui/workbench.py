"""The main part of the Train page: buttons, live numbers, the map and the point panel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import streamlit as st

from sslsop_core.datasets import Problem
from sslsop_core.diagnosis import advise

from . import point_panel, state
from .map_view import show_map
from .run_map import map_of, preview_parts
from .runs import Run
from .texts import plain

CARD = 156  # pixels
POLL, SLOW_POLL = 0.4, 1.0  # seconds between two looks at a run: drawing many points takes its share
MANY = 4_000
MAP = "map"
UNITS = {"classes": "classes", "tree": "leaves", "sequences": "tags", "labelsets": "labels"}
STATES = {
    "ready": "Ready",
    "queued": "Waiting for a free slot",
    "preparing": "Preparing",
    "running": "Training",
    "paused": "Paused",
    "stopped": "Stopped",
    "finished": "Finished",
    "failed": "Failed",
}


def data_card(problem: Problem, labels: bool = True) -> None:
    """What is being trained on, with the way to change it; `labels` says how many outputs are given."""
    with st.container(border=True, gap="small"):
        n_given = sum(output is not None for output in state.given()) if labels else 0
        told = f" · {n_given:,} labelled" if labels else ""
        st.markdown(f"**{plain(problem.name)}**")
        st.caption(f"{len(problem):,} points{told} · {len(problem.space)} {UNITS[problem.kind]}")
        st.page_link("pages/data.py", label="Change the data", icon=":material/edit:")


def show(run: Run | None, fits: bool) -> None:
    """Everything that moves, in a fragment that looks at the run while it is active."""
    st.session_state["whole"] = True
    watching = _needs_watching(run)
    pause = SLOW_POLL if run is not None and len(run.problem) > MANY else POLL
    st.fragment(_live, run_every=pause if watching else None)(fits, watching)


def _needs_watching(run: Run | None) -> bool:
    """Whether the run, or its map, will change by itself."""
    if run is None:
        return False
    drawn = map_of(run, state.maps())
    drawn.geometry()
    return run.active or (bool(run.turns) and not drawn.final)


def _live(fits: bool, watching: bool) -> None:
    run = state.run()
    if watching != _needs_watching(run):
        st.rerun()  # the interval is fixed by the full run: have another one
    _head(run, fits)
    if run is None:
        _preview()
        return
    _numbers(run)
    _messages(run)
    picture, side = st.columns([2.4, 1], gap="medium")
    with picture:
        _map(run)
    with side:
        point_panel.show(run, point_panel.chosen(run))


# --- head --------------------------------------------------------------------------------------------


def _head(run: Run | None, fits: bool) -> None:
    title, buttons = st.columns([1, 1.5], vertical_alignment="center")
    title.header("Train", anchor=False)
    active = run is not None and run.active
    paused = run is not None and run.status == "paused" and run.settings == state.settings()
    begun = run is not None and not active and (paused or bool(run.turns))
    open_end = begun and run is not None and not run.settled
    more = state.settings().max_iter
    with buttons, st.container(horizontal=True, horizontal_alignment="right", gap="small"):
        if paused:
            _button("Resume", "play_arrow", _act, "go", primary=True)
        else:
            _button("Train", "play_arrow", state.start_run, on=fits and not active, primary=True)
        _button("Pause", "pause", _act, "pause", on=active)
        if begun:
            _button("Step", "skip_next", _act, "step", on=open_end, help="One more iteration")
        else:
            _button(
                "Step", "skip_next", state.start_run, 1, on=fits and not active, help="The first iteration"
            )
        _button("Stop", "stop", _act, "stop", on=active or paused)
        _button(f"{more} more", "add", _act, "more", more, on=open_end, help="The same as one longer run")


def _button(
    label: str, icon: str, does: Callable[..., None], *args: Any, on: bool = True, primary: bool = False,
    help: str | None = None,
) -> None:  # fmt: skip
    st.button(label, icon=f":material/{icon}:", on_click=does, args=args, disabled=not on, help=help,
              type="primary" if primary else "secondary")  # fmt: skip


def _act(what: str, *args: int) -> None:
    run = state.run()
    if run is not None:
        getattr(run, what)(*args)


# --- numbers -----------------------------------------------------------------------------------------


def _numbers(run: Run) -> None:
    turns = list(run.turns)
    losses = [turn.loss for turn in turns if turn.loss is not None]
    form = "{:.3f}" if run.problem.kind == "tree" else "{:.1%}"
    cards = st.columns(4, gap="small")
    with cards[0].container(border=True, height=CARD):
        _progress(run)
    with cards[1]:
        _metric(
            "Hidden outputs wrong" if run.problem.kind != "tree" else "Hidden outputs: loss",
            form,
            losses,
            "area",
            _loss_help(run),
        )
    with cards[2]:
        told = "Eq. 9, over the neighborhoods that know something: it can rise while outputs spread."
        _metric("Objective", "{:,.1f}", [turn.iteration.objective for turn in turns], "line", told)
    with cards[3]:
        moved = [turn.iteration.n_changed for turn in turns]
        _metric("Outputs changed", "{:,}", moved, "bar", "How many outputs moved in the last iteration.")


def _metric(label: str, form: str, history: list, kind: Literal["line", "bar", "area"], help: str) -> None:
    value = form.format(history[-1]) if history else "-"
    chart = history if len(history) > 1 else None
    st.metric(label, value, chart_data=chart, chart_type=kind, border=True, height=CARD, help=help)


def _progress(run: Run) -> None:
    left = f" · {run.seconds_left:.0f} s left" if run.status == "running" and run.seconds_left > 2 else ""
    st.metric("Iteration", f"{run.n_iter} / {run.target}")
    waiting = f" ({state.registry().waiting()} in the queue)" if run.status == "queued" else ""
    phase = f": {run.preparing}" if run.status == "preparing" and run.preparing else ""
    words = "Settled: nothing moves" if run.settled else STATES[run.status] + phase + waiting + left
    st.progress(1.0 if run.settled else min(1.0, run.n_iter / max(run.target, 1)), words)


def _loss_help(run: Run) -> str:
    if run.problem.kind == "tree":
        return (
            "Mean height of the first common ancestor of the learned and the true leaf, hidden outputs only."
        )
    if run.problem.space.loss_name == "hamming":
        return "Mean share of wrong labels or tags, hidden outputs only."
    return (
        "Share of the hidden outputs that differ from the truth, a sequence in any of its tags; those not "
        "reached count as wrong."
    )


def _messages(run: Run) -> None:
    if run.status == "failed":
        st.error(plain(run.error), icon=":material/error:")
    if run.not_kept:
        st.warning(f"This run is not kept in the list of runs: {plain(run.not_kept)}", icon=":material/save:")
    advice = advise(run.model) if run.turns and not run.active else None
    if advice is not None:
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            st.markdown(f":material/lightbulb: {plain(advice.text)}", width="stretch")
            shown = ", ".join(f"{name} = {value}" for name, value in advice.remedy.items())
            st.button(f"Train with {shown}", on_click=_remedy, args=(advice.remedy,))


def _remedy(values: dict) -> None:
    state.change(**values)
    state.start_run()


# --- map ---------------------------------------------------------------------------------------------


def _map(run: Run) -> None:
    drawn, chosen = map_of(run, state.maps()), point_panel.chosen(run)
    geometry = drawn.geometry()
    sources = point_panel.sources(run, chosen)
    sent = st.session_state.get("sent")
    whole = st.session_state.pop("whole", False) or sent != geometry.version
    st.session_state["sent"] = geometry.version
    show_map(
        MAP,
        geometry,
        drawn.frames(run.active),
        drawn.overlay(chosen, sources),
        whole=whole,
        on_selection=_selected,
    )


def _selected() -> None:
    point_panel.choose(list(st.session_state[MAP].selection or []))


def _preview() -> None:
    st.info(
        "Coloured points are labelled, grey ones are not. **Train** lets the outputs spread over the map, "
        "neighborhood by neighborhood.",
        icon=":material/touch_app:",
    )
    parts = preview_parts(state.problem(), state.given(), state.maps(), state.problem_key())
    show_map("preview", *parts, around=340)
