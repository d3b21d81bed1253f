"""The parts of the Compare page: what to compare, and what came out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from sslsop_core.datasets import Problem
from sslsop_core.evaluation import Cell, Comparison
from sslsop_core.evaluation.tables import to_csv

from . import state, study_figures, study_view, verdicts
from .plans import CONTROL, SSLSOP_NAME, ComparePlan, described, methods_for
from .studies import Study
from .texts import plain
from .widgets import between, kept, set_ends

SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
MODES = {"compare": "One share", "curves": "Learning curves"}
INVITE = (
    "**Start** trains every method on the same folds with the same given outputs, and tests it on points "
    "that none has seen. The labelled-only control is always there: it answers whether the unlabelled data "
    "help."
)
DEFAULTS = ("LaplacianSSVM", "HybridCRF", "LabelSpreading")


# --- what to compare ---------------------------------------------------------------------------------


def choose(problem: Problem) -> ComparePlan:
    """The plan that the sidebar asks for."""
    _take_opened()
    mode = st.segmented_control(
        "What to compare", list(MODES), required=True, format_func=MODES.__getitem__,
        key=kept("mode", "compare"), persist_state="session", label_visibility="collapsed", width="stretch",
    )  # fmt: skip
    methods = _methods(problem)
    shares = _shares(mode == "curves")
    folds = st.slider(
        "Folds", 2, 20, key=kept("folds", 5), persist_state="session",
        help="Every point is tested once. More folds: surer, and slower.",
    )  # fmt: skip
    tune = None
    if st.toggle(
        "Tune every method", key="tuned", persist_state="session",
        help="Each method tries the same number of settings inside its labelled part.",
    ):  # fmt: skip
        tune = st.slider("Settings that each may try", 2, 24, key=kept("budget", 6), persist_state="session")
    seed = st.number_input("Seed of the folds", 0, 10_000, key=kept("fold_seed", 0), persist_state="session")
    return ComparePlan(state.settings(), methods, folds, shares, seed, tune)


def _methods(problem: Problem) -> tuple[str, ...]:
    known = methods_for(problem, state.settings())
    others = [name for name in known if name not in (SSLSOP_NAME, CONTROL)]
    key = kept("methods", [name for name in DEFAULTS if name in others])
    st.session_state[key] = [name for name in st.session_state[key] if name in others]
    chosen = st.multiselect(
        "Beside SSLSOP and the labelled-only control", others, key=key, persist_state="session",
        help="SSLSOP has the settings of the Train page. The control is a structural SVM that sees the "
        "labelled points only.",
    )  # fmt: skip
    return (SSLSOP_NAME, CONTROL, *chosen)


def _shares(curves: bool) -> tuple[float, ...]:
    if curves:
        return between("Labelled shares", "shares", SHARES, (0.05, 0.5), "{:.0%}".format)
    now = state.settings().labeled
    start = max(1, round(100 * now)) if now < 1 else 30
    percent = st.slider(
        "Labelled share", 1, 95, key=kept("share", start), format="%d%%", persist_state="session",
        help="Of the training outputs of every fold; the paper gives 30%.",
    )  # fmt: skip
    return (percent / 100,)


def _take_opened() -> None:
    """The widgets as they were for a comparison that is opened again."""
    plan = st.session_state.pop("opened plan", None)
    if not isinstance(plan, ComparePlan):
        return
    several = len(plan.shares) > 1
    values: dict[str, Any] = {
        "mode": "curves" if several else "compare",
        "methods": [name for name in plan.methods if name not in (SSLSOP_NAME, CONTROL)],
        "folds": plan.folds,
        "fold_seed": plan.seed,
        "tuned": plan.tune is not None,
    }
    if several:
        set_ends("shares", plan.shares)
    else:
        values["share"] = round(100 * plan.shares[0])
    if plan.tune is not None:
        values["budget"] = plan.tune
    st.session_state.update(values)


# --- what came out -----------------------------------------------------------------------------------


def draw(study: Study) -> None:
    plan, cells = study.plan, list(study.cells)
    assert isinstance(plan, ComparePlan)
    if not cells:
        study_view.nothing_yet(study)
        return
    measure, on = study_view.choose_measure(cells)
    if len(plan.shares) > 1:
        _curves(plan, cells, measure, on)
    else:
        _one_share(plan, cells, measure, on)
    _methods_and_parameters(study, cells)
    st.download_button(
        "All cells, CSV", lambda: to_csv(Comparison(cells).frame()), "comparison.csv", "text/csv",
        on_click="ignore", icon=":material/download:",
    )  # fmt: skip


def _one_share(plan: ComparePlan, cells: list[Cell], measure: str, on: study_view.On) -> None:
    comparison = Comparison(cells, SSLSOP_NAME)
    table = comparison.table(measure, on).reindex(plan.methods)
    with st.container(border=True):
        st.markdown("**Does the unlabelled data help here?**")
        st.markdown(verdicts.does_it_help(table.fillna({"folds": 0}), measure))
        st.caption(verdicts.ranking(table, measure))
    left, right = st.columns([1.2, 1], gap="medium")
    name = study_view.MEASURES[measure]
    with left:
        st.plotly_chart(
            study_figures.boxes(comparison, plan.methods, measure, on), key="boxes",
            alt=f"{name} of every method, fold by fold",
        )  # fmt: skip
    with right:
        st.plotly_chart(
            study_figures.loss_and_time(table, plan.methods, measure), key="time",
            alt=f"{name} of every method against its seconds",
        )  # fmt: skip
    _table(table, plan, measure)


def _table(table: pd.DataFrame, plan: ComparePlan, measure: str) -> None:
    shown = pd.DataFrame(
        {
            "Method": table.index,
            "Folds": [f"{int(n)} / {plan.folds}" for n in table["folds"].fillna(0)],
            "Mean": table["mean"],
            "95 % interval": list(map(verdicts.span, table["low"], table["high"])),
            "Minus SSLSOP": table["difference"],
            "its interval": list(map(verdicts.span, table["difference_low"], table["difference_high"])),
            "p, corrected t": list(map(verdicts.probability, table["p"])),
            "p, Wilcoxon": list(map(verdicts.probability, table["p_wilcoxon"])),
            "Won / level / lost": [_folds_won(row) for _, row in table.iterrows()],
            "In words": [verdicts.standing(row, measure) for _, row in table.iterrows()],
            "Fit, s": table["fit_seconds"],
            "Tuning, s": table["tune_seconds"],
            "Refused because": table["error"].fillna(""),
        }
    )
    number = st.column_config.NumberColumn
    hidden = [
        *(["Tuning, s"] if plan.tune is None else []),
        *(["Refused because"] if not shown["Refused because"].any() else []),
    ]
    st.dataframe(
        shown.drop(columns=hidden),
        hide_index=True,
        column_config={
            "Mean": number(format="%.3f"),
            "Minus SSLSOP": number(format="%+.3f"),
            "Fit, s": number(format="%.2f"),
            "Tuning, s": number(format="%.1f"),
        },
        placeholder="-",
        key="table",
    )
    st.download_button(
        "Table, CSV", lambda: to_csv(shown), "table.csv", "text/csv", on_click="ignore",
        icon=":material/download:",
    )  # fmt: skip
    st.caption(
        "Intervals and the t-test are corrected for folds that share training data (Nadeau and Bengio). "
        "Folds are won by the method of the row. p-values are those of single pairs: among many, some are "
        "small by chance."
    )


def _folds_won(row: pd.Series) -> str:
    if pd.isna(row["difference"]):
        return "-"
    return f"{int(row['wins'])} / {int(row['ties'])} / {int(row['losses'])}"


def _curves(plan: ComparePlan, cells: list[Cell], measure: str, on: study_view.On) -> None:
    """A line per method over the labelled share, with its band."""
    by_share = {
        share: Comparison([cell for cell in cells if cell.labeled == share], SSLSOP_NAME)
        .table(measure, on)
        .reindex(plan.methods)
        for share in plan.shares
    }
    whole = pd.concat(by_share, names=["share", "method"]).reset_index()
    lines = {method: whole[whole["method"] == method] for method in plan.methods}
    name = study_view.MEASURES[measure]
    st.plotly_chart(
        study_figures.curves(lines, "share", "labelled share", name, height=460), key="curves",
        alt=f"{name} of every method over the labelled share",
    )  # fmt: skip
    for share, table in by_share.items():
        if words := verdicts.ranking(table, measure):
            st.caption(f"**{share:.0%}** {words}")


# --- methods -----------------------------------------------------------------------------------------


def _methods_and_parameters(study: Study, cells: list[Cell]) -> None:
    with st.expander("The methods, and what was chosen for them", icon=":material/menu_book:"):
        name = st.selectbox("Method", list(study.asked["methods"]), key="described", persist_state="session")
        summary, asked = described(study.asked, name)
        st.text(summary)
        st.caption(plain(", ".join(f"{key} = {value}" for key, value in asked.items())))
        own = [(cell, _chosen(cell, asked)) for cell in cells if cell.method == name]
        if any(chosen for _, chosen in own):
            rows = [{"fold": c.fold + 1, "share": c.labeled, **chosen} for c, chosen in own]
            st.caption("Chosen on each fold; an empty cell is the value above.")
            st.dataframe(pd.DataFrame(rows).sort_values(["share", "fold"]), hide_index=True, key="chosen")


def _chosen(cell: Cell, asked: Mapping[str, Any]) -> dict[str, str]:
    """What was found by tuning, and the start that init="auto" stood for."""
    start = {"init": cell.init} if cell.init and cell.init != asked["init"] else {}
    return {key: str(value) for key, value in (cell.parameters | start).items()}
