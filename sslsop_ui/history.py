"""Studies and kept runs of one visitor: starting them, finding them, opening them again."""

from __future__ import annotations

import os

import streamlit as st

from sslsop_core.datasets import Problem
from sslsop_core.evaluation import Record, Store
from sslsop_core.evaluation.fingerprints import fingerprint
from sslsop_core.evaluation.store import NoSuchRunError
from sslsop_core.features import Features

from . import state
from .plans import ComparePlan, Plan, SweepPlan, from_saved_plan
from .runs import Run
from .settings import UPLOAD, Settings, from_saved
from .studies import Study
from .texts import plain

QUICK = 15.0  # seconds of work below which processes, which take seconds to start, do not pay


def processes(chosen: int, seconds: float) -> int:
    """Cells at once: as chosen, or, if that is 0, by the work there is."""
    return chosen or (1 if seconds < QUICK else os.cpu_count() or 1)


# --- studies -----------------------------------------------------------------------------------------


def slot_of(plan: Plan) -> str:
    """Where a visitor's study of this kind is remembered; there is one of each."""
    if isinstance(plan, SweepPlan):
        return "sweep " + " ".join(plan.axes)
    return "compare" if len(plan.shares) == 1 else "curves"


def study(slot: str) -> Study | None:
    """The visitor's study; the URL keeps its name, so that a reload finds it again."""
    key = f"study {slot}"
    if key not in st.session_state and "study" in st.query_params:
        told = state.studies().get(st.query_params["study"])
        if told is not None and slot_of(told.plan) == slot:
            st.session_state[key] = told.id
    found = _present(slot)
    if found is not None:
        st.query_params["study"] = found.id
    else:
        st.query_params.pop("study", None)
    return found


def start(plan: Plan, n_jobs: int) -> None:
    """Begin a study, or go on with one: what the store has is not computed again.

    Without a store, where finished cells are kept, there is no study, and the page tells why.
    """
    try:
        store = state.store()
    except (ValueError, OSError) as error:
        st.session_state["no study"] = str(error)
        return
    record = ""
    if (old := _present(slot_of(plan))) is not None:
        old.pause()
        old.left = True
        record = old.record if old.halted and old.plan == plan and _same_data(store, old.record) else ""
    begun = Study(
        plan, state.problem(), store, n_jobs=n_jobs, owner=state.owner(),
        source=state.problem_source(), key=state.problem_key(), slots=state.studies().slots,
        record=record,
    )  # fmt: skip
    st.session_state[f"study {slot_of(plan)}"] = state.studies().add(begun).id
    begun.go()


def _same_data(store: Store, record: str) -> bool:
    """Whether a run of the store, if it is still there, is one of the present problem."""
    try:
        return store.run(record).fingerprint == fingerprint(state.problem())
    except NoSuchRunError:
        return False


def train_at(study: Study, settings: Settings) -> None:
    """Train with the settings of a point of a study, on its data. A ValueError says why they are not here."""
    if study.problem is None and settings.data == UPLOAD:
        _require_upload(state.store().run(study.record))
        state.apply(settings)
    else:
        state.take_over(settings, study.problem, study.source, study.key)
    state.start_run()


def cancel(slot: str) -> None:
    if (found := _present(slot)) is not None:
        found.pause()


def _present(slot: str) -> Study | None:
    return state.studies().get(st.session_state.get(f"study {slot}"))


# --- kept runs ---------------------------------------------------------------------------------------


def mine(kind: str | None = None, data: str | None = None, text: str = "") -> list[Record]:
    """The visitor's runs in the store, the newest first."""
    owner = state.owner()
    return [
        record
        for record in state.store().runs(kind=kind, data=data, text=text)
        if not owner or record.settings.get("owner") == owner
    ]


def open_again(record: Record) -> str:
    """Make a kept run the present one; the page that shows it. A ValueError says why it cannot be."""
    if record.kind == "train":
        return _train_again(record)
    plan = from_saved_plan(record.kind, record.settings, state.NAMES)
    if plan.app.data != UPLOAD or _has_data(record):
        state.leave_run()
        state.apply(plan.app)
    opened = state.studies().add(Study.opened(record, plan, state.store()))
    st.session_state[f"study {slot_of(plan)}"] = opened.id
    st.session_state["opened plan"] = plan
    return "pages/compare.py" if isinstance(plan, ComparePlan) else "pages/sensitivity.py"


def _train_again(record: Record) -> str:
    """The run itself while the server has it; else trained again: the same seed makes the same run."""
    alive = state.registry().get(record.settings.get("run"))
    if alive is not None:
        state.leave_run()
        state.take_over(alive.settings, alive.problem, alive.source, alive.key)
        st.session_state["run"] = alive.id
        return "pages/train.py"
    app = from_saved(record.settings.get("app", {}), state.NAMES)
    if app.data == UPLOAD:
        _require_upload(record)
    state.leave_run()
    state.apply(app)
    state.start_run()
    return "pages/train.py"


def _require_upload(record: Record) -> None:
    if not _has_data(record):
        raise ValueError(
            f"the data of this run, {record.data}, came from a file that is not here any more: upload it on "
            "the Data page, then open the run again."
        )


def _has_data(record: Record) -> bool:
    """Whether the file that was uploaded last is the one of the run."""
    upload = st.session_state.get("upload")
    return upload is not None and fingerprint(upload) == record.fingerprint


def keep_model(run: Run) -> None:
    """Keep the model of a finished run in the store, with what turns inputs into its features."""
    try:
        state.store().keep_model(run.record, run.model, features_of(run.problem))
    except (ValueError, OSError) as error:
        st.toast(f"The model could not be kept: {plain(error)}", icon=":material/error:", duration="infinite")
    else:
        st.toast("The model is kept: Runs opens it again.", icon=":material/save:")


def features_of(problem: Problem) -> Features | None:
    """What turns raw inputs into the rows that a model was trained on."""
    return None if problem.features is None else problem.fitted
