"""What Compare and Sensitivity share: the buttons, the progress, the choice of a measure."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Literal

import streamlit as st

from sslsop_core.datasets import Problem
from sslsop_core.evaluation import Cell

from . import history, state
from .controls import ESTIMATING, duration
from .plans import Plan
from .studies import Study
from .texts import plain
from .workbench import STATES

POLL = 1.0  # seconds between two looks at a study
MEASURES = {"loss": "Loss", "0-1": "0-1 loss", "hamming": "Hamming loss", "entity F1": "Entity F1"}
On = Literal["new", "hidden"]
POINTS: dict[On, str] = {"new": "New points", "hidden": "Hidden training outputs"}


def choose_processes() -> int:
    """How many cells at once; 0 leaves it to the work there is."""
    return st.selectbox(
        "Cells at once",
        range((os.cpu_count() or 1) + 1),
        format_func=lambda n: str(n) if n else "As suits the work",
        key="processes",
        persist_state="session",
        help="Each cell is a process of its own, which takes seconds to start: short studies run in one.",
    )


def show(
    title: str, plan: Plan, problem: Problem, n_jobs: int, draw: Callable[[Study], None], invite: str
) -> None:
    """The study of this plan's kind, in a fragment that looks at it while it works.

    Parameters
    ----------
    draw : the results.
    invite : what to read before the first study.
    """
    found = history.study(history.slot_of(plan))
    with st.spinner(ESTIMATING):
        seconds = plan.seconds(problem)
    watching = found is not None and found.active
    st.fragment(_live, run_every=POLL if watching else None)(
        title, plan, seconds, history.processes(n_jobs, seconds), draw, invite, watching
    )


def _live(
    title: str,
    plan: Plan,
    seconds: float,
    n_jobs: int,
    draw: Callable[[Study], None],
    invite: str,
    watching: bool,
) -> None:
    slot = history.slot_of(plan)
    study = history.study(slot)
    active = study is not None and study.active
    if watching != active:
        st.rerun()  # the interval is fixed by the full run: have another one
    _head(title, plan, study, seconds, n_jobs)
    if (refused := st.session_state.pop("no study", None)) is not None:
        st.error(plain(refused), icon=":material/error:")
    if study is None:
        st.info(invite, icon=":material/touch_app:")
        return
    _progress(study)
    if study.error:
        st.error(plain(study.error), icon=":material/error:")
    if study.plan != plan and not active:
        st.caption(
            ":material/history: These results belong to other settings than those on the left; "
            "start again for the present ones. Cells that are known already come at once."
        )
    draw(study)


def _head(title: str, plan: Plan, study: Study | None, seconds: float, n_jobs: int) -> None:
    head, buttons = st.columns([1.6, 1], vertical_alignment="center")
    head.header(title, anchor=False)
    active = study is not None and study.active
    halted = study is not None and study.halted and study.plan == plan
    with buttons, st.container(horizontal=True, horizontal_alignment="right", gap="small"):
        st.button(
            "Resume" if halted else "Start",
            icon=":material/play_arrow:",
            type="primary",
            disabled=active,
            on_click=history.start,
            args=(plan, n_jobs),
        )
        st.button(
            "Cancel",
            icon=":material/stop:",
            disabled=not active,
            on_click=history.cancel,
            args=(history.slot_of(plan),),
            help="Finished cells are kept: a later start goes on from there.",
        )
    if not active:
        total = sum(plan.expected.values())
        where = "in this process" if n_jobs == 1 else f"in {n_jobs} processes"
        st.caption(
            f":material/schedule: {total:,} cells, about {duration(seconds / n_jobs)} {where}.",
            help="A rough estimate, good to tell seconds from minutes. A cell is one method, or one setting, "
            "on one fold. Cells that were computed before come from the store at once.",
        )


def _progress(study: Study) -> None:
    done, total = len(study.cells), study.total
    words = STATES.get(study.status, "Not finished")
    if study.status == "running":
        words = "Stopping" if study.halting else "Working"
    queue = f" ({state.studies().waiting()} in the queue)" if study.status == "queued" else ""
    left = study.seconds_left
    rest = f" · about {duration(left)} left" if left is not None and done < total else ""
    on = "" if study.active else f" · {plain(study.data)}"
    st.progress(min(1.0, done / max(total, 1)), f"{words}{queue} · {done:,} / {total:,} cells{rest}{on}")


def nothing_yet(study: Study) -> None:
    if study.active:
        started = "" if study.n_jobs == 1 else " Processes take some seconds to start."
        st.caption(f"The first cells are on their way.{started}")
    else:
        st.caption("No cell was finished.")


def choose_measure(cells: Sequence[Cell]) -> tuple[str, On]:
    """Which measure, and on which points; measures that are the same as the loss are left out."""
    scored = [cell.new for cell in cells if cell.new]
    apart = {name for new in scored for name in new if new[name] != new["loss"]}
    names = [name for name in MEASURES if name == "loss" or name in apart]
    with st.container(horizontal=True, gap="medium"):
        measure = "loss"
        if len(names) > 1:
            measure = st.segmented_control(
                "Measure", names, default="loss", required=True, format_func=MEASURES.__getitem__,
                key="measure", persist_state="session",
            )  # fmt: skip
        on: On = st.segmented_control(
            "On", list(POINTS), default="new", required=True, format_func=POINTS.__getitem__, key="on",
            persist_state="session",
            help="New points were not there in training. Hidden training outputs are what was learned for "
            "the unlabelled training points.",
        )  # fmt: skip
    return measure, on
