"""The parts of the Sensitivity page: ranges, curves with bands, heat maps whose cells open on Train."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from sslsop_core.evaluation import Sweep
from sslsop_core.evaluation.tables import to_csv

from . import history, state, study_figures, study_view
from .plans import SweepPlan
from .studies import Study
from .texts import plain
from .widgets import between, kept, set_ends

K_VALUES = (2, 3, 5, 8, 12, 15, 20, 30, 50, 75, 100)
C_VALUES = (0.0001, 0.001, 0.01, 0.03, 0.1, 0.3)
ETA_VALUES = (0.1, 0.3, 1.0, 3.0, 5.0, 10.0, 20.0, 50.0)
T_VALUES = (1, 2, 5, 10, 20, 30, 50, 100)
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
VIEWS = {"k C": "k and C", "eta T": "η and T", "share": "Labels"}
STEPS = {"paper": "The paper's output step", "exact": "The exact output step"}
INVITE = (
    "**Start** trains SSLSOP at every point of the ranges on the left, on the same folds, with all other "
    "settings as on the Train page. Curves and maps fill in while it runs; a click on a cell of a map opens "
    "it on Train."
)


# --- what to sweep -----------------------------------------------------------------------------------


def choose(n: int) -> SweepPlan:
    """The plan that the sidebar asks for; `n` points limit k."""
    _take_opened()
    view = st.segmented_control(
        "What to vary", list(VIEWS), required=True, format_func=VIEWS.__getitem__, key=kept("view", "k C"),
        persist_state="session", width="stretch",
    )  # fmt: skip
    folds = st.slider("Folds", 2, 10, key=kept("sweep_folds", 3), persist_state="session")
    app = state.settings()
    labeled = app.labeled if app.labeled < 1 else 0.3
    grid: tuple[tuple[str, tuple[Any, ...]], ...]
    if view == "share":
        grid = (
            ("labeled", between("Labelled shares", "range labeled", SHARES, (0.02, 0.5), "{:.0%}".format)),
        )
    else:
        percent = st.slider(
            "Labelled share", 1, 95, key=kept("sweep_share", max(1, round(100 * labeled))), format="%d%%",
            persist_state="session",
        )  # fmt: skip
        labeled = percent / 100
        if view == "eta T":
            steps = ("output_step", tuple(STEPS))
            etas = between("Step size η", "range eta", ETA_VALUES, (0.3, 20.0))
            turns = between("Iterations T", "range max_iter", T_VALUES, (1, 50))
            grid = (steps, ("eta", etas), ("max_iter", turns))
        else:
            n_train = n * (folds - 1) // folds
            possible = tuple(k for k in K_VALUES if k <= n_train) or K_VALUES[:1]
            ks = between("Neighborhood size k", "range k", possible, (3, min(30, possible[-1])))
            grid = (("k", ks), ("C", between("Simplicity C", "range C", C_VALUES, (0.0001, 0.1))))
    return SweepPlan(app, grid, folds, labeled)


def _take_opened() -> None:
    """The widgets as they were for a sweep that is opened again."""
    plan = st.session_state.pop("opened plan", None)
    if not isinstance(plan, SweepPlan):
        return
    axes = plan.axes
    view = "share" if "labeled" in axes else "eta T" if "eta" in axes else "k C"
    for name, values in axes.items():
        set_ends(f"range {name}", values)
    st.session_state.update(
        {"view": view, "sweep_folds": plan.folds, "sweep_share": round(100 * plan.labeled)}
    )


# --- what came out -----------------------------------------------------------------------------------


def draw(study: Study) -> None:
    plan, cells = _plan_of(study), list(study.cells)
    if not cells:
        study_view.nothing_yet(study)
        return
    measure, on = study_view.choose_measure(cells)
    sweep = Sweep(cells, plan.axes)
    if "labeled" in plan.axes:
        _share_curve(sweep, measure, on)
    elif "eta" in plan.axes:
        _steps(sweep, study, measure, on)
    else:
        _k_and_C(sweep, study, measure, on)
    errors = sweep.table(measure, on)["error"]
    if errors.any():
        st.caption(f":material/block: {int((errors != '').sum())} points of the grid were refused:")
        st.text(errors[errors != ""].iloc[0])
    st.download_button(
        "All cells, CSV", lambda: to_csv(sweep.frame()), "sweep.csv", "text/csv", on_click="ignore",
        icon=":material/download:",
    )  # fmt: skip


def _plan_of(study: Study) -> SweepPlan:
    assert isinstance(study.plan, SweepPlan)
    return study.plan


def _k_and_C(sweep: Sweep, study: Study, measure: str, on: study_view.On) -> None:
    plan = _plan_of(study)
    name, table = study_view.MEASURES[measure], sweep.table(measure, on)
    now = {name: _nearest(plan.axes[name], getattr(plan.app, name)) for name in ("k", "C")}
    for column, x, other in zip(st.columns(2, gap="medium"), ("k", "C"), ("C", "k"), strict=True):
        with column:
            values = plan.axes[other]
            fixed = st.selectbox(
                f"Over {x}, at {other} =", values, index=values.index(now[other]), format_func="{:g}".format,
                key=f"curve {x} {values}",
            )  # fmt: skip
            line = table[table[other] == fixed]
            st.plotly_chart(
                study_figures.curves({f"{other} = {fixed:g}": line}, x, x, name, height=280), key=f"over {x}",
                alt=f"{name} over {x}, with its 95 % band",
            )  # fmt: skip
    st.markdown(f"**{name} over k and C.** Click a cell to open it on Train; the ring is what was set there.")
    matrix = sweep.matrix("mean", measure, on)
    figure = study_figures.heat(matrix, ("k", "C"), name, now=(plan.app.k, plan.app.C))
    _open_clicked("heat k C", figure, ("k", "C"), study, {})
    _open_by_hand(study, ("k", "C"), {})


def _steps(sweep: Sweep, study: Study, measure: str, on: study_view.On) -> None:
    st.markdown(
        "**Outputs that still flip in the last iteration**, for every step size η and number of iterations "
        "T. Click a cell to open that run on Train."
    )
    table = sweep.table(measure, on)
    names = {"flipping": "flipping", "mean": study_view.MEASURES[measure]}
    tops = {"flipping": 1.0, "mean": max(table["mean"].max(), 1e-9) if table["mean"].notna().any() else 1.0}
    for value, name in names.items():
        if value == "mean":
            st.markdown(f"**{name}** at the same points.")
        for column, (step, title) in zip(st.columns(2, gap="medium"), STEPS.items(), strict=True):
            with column:
                st.caption(title)
                part = table[table["output_step"] == step]
                matrix = part.pivot(index="eta", columns="max_iter", values=value)
                form = ".0%" if value == "flipping" else ".3f"
                figure = study_figures.heat(matrix, ("η", "T"), name, high=tops[value], form=form)
                _open_clicked(
                    f"heat {value} {step}", figure, ("eta", "max_iter"), study, {"output_step": step}
                )
    _open_by_hand(study, ("eta", "max_iter"), {"output_step": "exact"})


def _share_curve(sweep: Sweep, measure: str, on: study_view.On) -> None:
    name = study_view.MEASURES[measure]
    figure = study_figures.curves({"SSLSOP": sweep.table(measure, on)}, "labeled", "labelled share", name)
    st.plotly_chart(figure, key="over share", alt=f"{name} over the labelled share, with its 95 % band")


# --- opening a point on Train ------------------------------------------------------------------------


def _open_clicked(key: str, figure: Any, names: tuple[str, str], study: Study, more: dict[str, Any]) -> None:
    axes = _plan_of(study).axes
    event: Any = st.plotly_chart(figure, key=key, on_select="rerun", selection_mode="points")
    points = event.selection.points
    if points:
        values = dict(zip(names, points[0]["customdata"], strict=True))
        _train(study, {name: type(axes[name][0])(value) for name, value in values.items()} | more)


def _open_by_hand(study: Study, names: tuple[str, str], more: dict[str, Any]) -> None:
    """The same without a mouse."""
    axes = _plan_of(study).axes
    with st.expander("Open a point on Train", icon=":material/hub:"), st.container(horizontal=True):
        if "output_step" in axes:
            step = st.selectbox(
                "Output step", list(STEPS), index=1, format_func=STEPS.__getitem__, key="by hand output_step"
            )
            more = {"output_step": step}
        values = {
            name: st.selectbox(name, axes[name], format_func="{:g}".format, key=f"by hand {name}")
            for name in names
        }
        if st.button("Train with these", icon=":material/play_arrow:", key="by hand"):
            _train(study, values | more)


def _train(study: Study, values: dict[str, Any]) -> None:
    """Open the run that a point shows: all settings are those of the sweep, not the present ones."""
    plan = _plan_of(study)
    try:
        history.train_at(study, replace(plan.app, labeled=plan.labeled, **values))
    except (ValueError, OSError) as error:
        st.error(plain(error), icon=":material/block:")
        return
    st.switch_page("pages/train.py")


def _nearest(values: tuple[Any, ...], now: Any) -> Any:
    return min(values, key=lambda value: abs(value - now))
