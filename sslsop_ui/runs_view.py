"""The list of runs: find, look at, put side by side, name, delete, take away and open again."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from sslsop_core.evaluation import Record
from sslsop_core.evaluation.tables import to_csv

from . import figures, history, state
from .plans import SSLSOP_NAME
from .texts import plain

KINDS = {"train": "Training", "compare": "Comparison", "sweep": "Sweep"}
MOST_SIDE_BY_SIDE = 6
PRIVATE = ("owner", "run")
TOLD_BY_APP = ("problem", "given", "method")  # what repeats a run: its settings in the app say the same


def show() -> None:
    everything = history.mine()
    if not everything:
        st.info(
            "Nothing has been run yet. Every training, comparison and sweep is kept here, with its settings, "
            "losses and curves.",
            icon=":material/touch_app:",
        )
        st.page_link("pages/train.py", label="Train", icon=":material/hub:")
        return
    records = _found(everything)
    chosen = _list(records)
    st.download_button(
        "List, CSV" if not chosen else f"{len(chosen)} chosen, CSV",
        lambda: to_csv(pd.DataFrame([facts(record) for record in chosen or records])),
        "runs.csv",
        "text/csv",
        on_click="ignore",
        icon=":material/download:",
    )
    if not chosen:
        st.caption("Tick a run to open it, or several to see them side by side.")
    elif len(chosen) == 1:
        _one(chosen[0])
    else:
        _several(chosen[:MOST_SIDE_BY_SIDE])


# --- the list ----------------------------------------------------------------------------------------


def _found(everything: list[Record]) -> list[Record]:
    """The runs that the filters leave."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = st.segmented_control("Kind", list(KINDS), format_func=KINDS.__getitem__, key="runs kind")
        names = sorted({record.data for record in everything})
        data = st.selectbox("Data", names, index=None, placeholder="All data", key="runs data", width=220)
        text = st.text_input("Search", placeholder="Part of a name", key="runs text", width=260)
    return history.mine(kind, data, text)


def _list(records: list[Record]) -> list[Record]:
    """The table; those of its rows that are ticked."""
    rows = [
        {
            "Name": record.name,
            "Kind": KINDS[record.kind],
            "Data": record.data,
            "Loss": _loss(record),
            "Status": record.status,
            "Time, s": record.seconds,
            "Model": state.store().model_path(record.id).exists(),
            "Begun": pd.Timestamp(record.created),
        }
        for record in records
    ]
    config = {
        "Loss": st.column_config.NumberColumn(
            format="%.4f",
            help="Of SSLSOP: on the hidden outputs of a training, on new points of a comparison.",
        ),
        "Time, s": st.column_config.NumberColumn(format="%.1f"),
        "Begun": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm"),
        "Model": st.column_config.CheckboxColumn(help="Whether its model is kept."),
    }
    event: Any = st.dataframe(
        pd.DataFrame(rows, columns=[*config, "Name", "Kind", "Data", "Status"]),
        hide_index=True,
        column_order=["Name", "Kind", "Data", "Loss", "Status", "Time, s", "Model", "Begun"],
        column_config=config,
        on_select="rerun",
        selection_mode="multi-row",
        placeholder="-",
        key=table_key(records),
    )
    return [records[row] for row in event.selection.rows if row < len(records)]


def table_key(records: list[Record]) -> str:
    """A list of its own for other records: ticks, which are for rows, must not pass to another run."""
    return f"runs {hash(tuple(record.id for record in records))}"


def _loss(record: Record) -> float | None:
    return record.losses.get("hidden loss", record.losses.get(SSLSOP_NAME))


# --- one run -----------------------------------------------------------------------------------------


def _one(record: Record) -> None:
    with st.container(border=True):
        st.markdown(f"**{plain(record.name)}** · {KINDS[record.kind]} on {plain(record.data)}")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            if st.button(
                "Open again", type="primary", icon=":material/open_in_new:", help=_what_opening_does(record)
            ):
                _open(record)
            _model_buttons(record)
            _rename(record)
            _delete([record])
        left, right = st.columns([1, 1.3], gap="medium")
        with left:
            _facts_table([record])
        with right:
            _curves([record])


def _what_opening_does(record: Record) -> str:
    if record.kind == "train":
        return "Shows it on Train; trained again, to the same end, if the server has forgotten it."
    return "Shows its cells as they are stored; an unfinished one can be resumed there."


def _open(record: Record) -> None:
    try:
        page = history.open_again(record)
    except ValueError as error:
        st.error(plain(error), icon=":material/block:")
        return
    st.switch_page(page)


def _model_buttons(record: Record) -> None:
    if record.kind != "train":
        return
    if state.store().model_path(record.id).exists():
        if st.button("Use its model", icon=":material/model_training:"):
            st.session_state["kept model"] = (record.id, record.name)
            st.switch_page("pages/predict.py")
        return
    run = state.registry().get(record.settings.get("run"))
    st.button(
        "Keep its model",
        icon=":material/save:",
        disabled=run is None or run.active,
        on_click=history.keep_model,
        args=(run,),
        help="A model can be kept as long as the server remembers the run; open it to have it trained again.",
    )


def _rename(record: Record) -> None:
    with st.popover("Rename", icon=":material/edit:"):
        name = st.text_input("Name", record.name, max_chars=120, key=f"name {record.id}")
        if st.button("Save", disabled=not name.strip()):
            state.store().rename(record.id, name.strip())
            st.rerun()


def _delete(records: list[Record]) -> None:
    with st.popover("Delete", icon=":material/delete:"):
        what = "this run" if len(records) == 1 else f"these {len(records)} runs"
        st.markdown(
            f"Delete {what} for ever, with the models kept? Cells of comparisons stay, to be used again."
        )
        if st.button("Delete for ever", type="primary", icon=":material/delete:"):
            for record in records:
                state.store().delete(record.id)
            st.rerun()


# --- side by side ------------------------------------------------------------------------------------


def _several(records: list[Record]) -> None:
    with st.container(border=True):
        with st.container(horizontal=True):
            _delete(records)
        st.markdown("**Where they differ**")
        _facts_table(records)
        _curves(records)


def facts(record: Record) -> dict[str, Any]:
    """All that is known of a run, flat."""
    settings = dict(record.settings)
    app = settings.pop("app", {})
    for name in PRIVATE if not app else (*PRIVATE, *TOLD_BY_APP):
        settings.pop(name, None)
    row: dict[str, Any] = {"name": record.name, "kind": KINDS[record.kind], "data": record.data}
    row |= {"status": record.status, "begun": record.created, "seconds": round(record.seconds, 2)}
    settings |= {f"values of {name}": values for name, values in dict(settings.pop("grid", {})).items()}
    if app and "methods" in settings:
        settings["methods"] = list(settings["methods"])
    row |= record.losses | settings | {f"SSLSOP {name}": value for name, value in app.items()}
    row |= {"fingerprint": record.fingerprint} | {f"version {k}": v for k, v in record.versions.items()}
    return row


def _facts_table(records: list[Record]) -> None:
    """A column per run; of several runs only what differs."""
    table = pd.DataFrame([facts(record) for record in records]).T.map(_text)
    table.columns = pd.Index([f"{number}" for number in range(1, len(records) + 1)])
    if len(records) > 1:
        table = table[table.nunique(axis=1) > 1]
    else:
        table.columns = pd.Index(["value"])
    st.dataframe(table.rename_axis("what"), height="auto" if len(records) > 1 else 330, key="facts")


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "-" if pd.isna(value) else f"{value:.5g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    return "-" if value is None else str(value)


def _curves(records: list[Record]) -> None:
    """What was measured at every iteration, for those that have it."""
    for name, title in {"hidden loss": "loss on the hidden outputs", "objective": "objective"}.items():
        lines = {
            f"{number}. {record.name}": record.curves[name]
            for number, record in enumerate(records, start=1)
            if record.curves.get(name)
        }
        if lines:
            st.plotly_chart(
                figures.histories(lines, title), key=f"curves {name}", alt=f"{title} over iterations"
            )
