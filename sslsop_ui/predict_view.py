"""The parts of the Predict & export page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import streamlit as st

from sslsop_core import SSLSOP, LabelSets, Sequences, load_model
from sslsop_core.datasets import Problem
from sslsop_core.evaluation.tables import to_csv
from sslsop_core.features import Features
from sslsop_core.modelfile import dump_model

from . import exports, figures, history, new_rows, point_panel, state
from .previews import kind_of_input
from .run_map import map_of
from .runs import Run
from .settings import UPLOAD
from .symbols import text_of
from .texts import plain

FORM_COLUMNS = 100
THIS, KEPT, FILE = "This run", "A kept model", "A model file"
RAW = {"standardise": "table", "tokens": "sentences"}  # features whose raw inputs can be asked for


def _nothing_yet(what: str) -> None:
    st.info(f"There is no finished run to {what}.", icon=":material/hourglass_empty:")
    st.page_link("pages/train.py", label="Train one", icon=":material/hub:")


# --- export ------------------------------------------------------------------------------------------


def export(run: Run | None) -> None:
    if run is None or not run.turns or run.active:
        _nothing_yet("export" if run is None or not run.active else "export yet: it is still training")
        return
    left, right = st.columns([1, 1], gap="large")
    with left:
        _files(run)
    with right:
        _summary(run)
        _repeat(run)


def _files(run: Run) -> None:
    name, drawn = exports.file_name(run.problem.name), map_of(run, state.maps())
    st.subheader("Model", anchor=False)
    _download(
        "Model file (.sslsop)",
        lambda: dump_model(run.model, history.features_of(run.problem)),
        f"{name}.sslsop",
        primary=True,
    )
    st.caption("Safetensors: it cannot run code. `load_model` reads it, and so does the Predict tab.")
    if run.record:
        kept = state.store().model_path(run.record).exists()
        st.button(
            "Kept in Runs" if kept else "Keep in Runs",
            icon=":material/check:" if kept else ":material/save:",
            disabled=kept,
            on_click=history.keep_model,
            args=(run,),
            help="Keeps the model with the run in the store on this machine, to be used again later.",
        )
    st.subheader("Outputs", anchor=False)
    with st.container(horizontal=True):
        _download("CSV", lambda: exports.outputs_csv(run), f"{name}-outputs.csv")
        _download("Parquet", lambda: exports.outputs_parquet(run), f"{name}-outputs.parquet")
        if isinstance(run.problem.space, Sequences):
            _download("CoNLL", lambda: exports.outputs_conll(run), f"{name}-outputs.conll")
        _download("History", lambda: exports.history_csv(run), f"{name}-history.csv")
    st.subheader("Map", anchor=False)
    with st.container(horizontal=True):
        _download("PNG", lambda: exports.map_png(drawn), f"{name}-map.png")
        _download("SVG", lambda: exports.map_svg(drawn), f"{name}-map.svg")
        _download("HTML, plays by itself", lambda: exports.map_html(drawn), f"{name}-map.html")


def _download(label: str, make: Callable[[], bytes], name: str, primary: bool = False) -> None:
    st.download_button(
        label,
        make,
        name,
        key=f"download {name}",
        on_click="ignore",
        icon=":material/download:",
        type="primary" if primary else "secondary",
    )


def _summary(run: Run) -> None:
    with st.container(border=True):
        last = run.turns[-1]
        objective = f"objective {last.iteration.objective:,.2f}"
        st.markdown(f"**{plain(run.problem.name)}** · {run.n_iter} iterations · {objective}")
        if last.loss is not None:
            st.caption(f"Loss on the hidden outputs: {last.loss:.4f}")
        st.plotly_chart(figures.run_history(run.turns), key="history")


def _repeat(run: Run) -> None:
    st.subheader("Repeat", anchor=False)
    script = exports.script(run)
    with st.expander("Python script that repeats this run", icon=":material/code:"):
        st.code(script, language="python")
    _download("Script", script.encode, f"{exports.file_name(run.problem.name)}.py")
    if run.settings.data == UPLOAD:
        st.caption("A link cannot carry your file; share the script and the file in its place.")
        return
    base = (st.context.url or "http://localhost:8501/").partition("?")[0].rsplit("/", 1)[0]
    st.caption("Link with all settings of this run:")
    st.code(f"{base}/train?{urlencode(run.settings.to_query())}", language=None, wrap_lines=True)


# --- predict -----------------------------------------------------------------------------------------


def predict(run: Run | None) -> None:
    ready = run is not None and bool(run.turns) and not run.active
    kept = st.session_state.get("kept model")
    options = [THIS] * ready + [KEPT] * (kept is not None) + [FILE]
    default = KEPT if kept is not None else options[0]
    where = st.segmented_control("Model", options, default=default, required=True, key="model from")
    if where == THIS and run is not None:
        _ask(run.model, history.features_of(run.problem), kind_of_input(run.problem), run.problem)
        return
    model = _kept(*kept) if where == KEPT and kept is not None else _loaded()
    if model is not None:
        st.success(
            f"{plain(repr(model.space_))}, {model.n_iter_} iterations on "
            f"{len(model.graph_.neighbors):,} points, {model.n_features_in_:,} features.",
            icon=":material/check_circle:",
        )
        kind = RAW.get(model.features_.tag, "rows") if model.features_ is not None else "rows"
        _ask(model, model.features_, kind, None)


def _kept(record: str, name: str) -> SSLSOP | None:
    """The model that was chosen on the Runs page."""
    st.caption(f"Of the run {plain(name)}.")
    if st.session_state.get("model_mark") != record:
        try:
            st.session_state["loaded"] = state.store().model(record)
        except ValueError as error:
            st.error(plain(error), icon=":material/block:")
            return None
        st.session_state["model_mark"] = record
    return st.session_state["loaded"]


def _loaded() -> SSLSOP | None:
    file = st.file_uploader("Model file", ["sslsop"], help="Made by the Export tab or by `model.save`.")
    if file is None:
        return None
    if st.session_state.get("model_mark") != file.file_id:
        try:
            st.session_state["loaded"] = load_model(file.getvalue())
        except ValueError as error:
            st.error(plain(error), icon=":material/block:")
            return None
        st.session_state["model_mark"] = file.file_id
    return st.session_state["loaded"]


def _ask(model: SSLSOP, features: Features | None, kind: str, problem: Problem | None) -> None:
    """New inputs as a person has them, where the model comes with what turns them into features."""
    if kind == "images" and problem is not None:
        files = st.file_uploader("Images", ["png", "jpg", "jpeg"], accept_multiple_files=True)
        if files:
            data, shape = [file.getvalue() for file in files], problem.inputs.shape[1:]
            _answer(model, lambda: new_rows.as_features(features, new_rows.grey_images(data, shape)))
    elif kind == "sentences":
        text = st.text_area("Sentences, one per line, tokens between spaces")
        like = None if problem is None else problem.inputs
        if text.strip():
            _answer(model, lambda: new_rows.as_features(features, new_rows.sentences(text, like)))
    elif kind == "table":
        _ask_rows(model, features, None if problem is None else _first_row(problem))
        return
    st.caption("Rows of features, as the model itself sees them:")
    _ask_rows(model, None, None)


def _first_row(problem: Problem) -> np.ndarray | None:
    rows = problem.inputs if problem.inputs is not None else problem.X
    return None if isinstance(rows, list) else np.asarray(rows[:1], dtype=float)


def _ask_rows(model: SSLSOP, features: Features | None, example: np.ndarray | None) -> None:
    """Rows of numbers from a file or a small form."""
    d, blocks = model.n_features_in_, isinstance(model.space_, Sequences)
    label = f"CSV with {d:,} numbers a row" + (", an empty line between sequences" if blocks else "")
    file = st.file_uploader(label, ["csv", "txt"], key="rows")
    names = getattr(features, "columns", None)
    if file is not None:
        named = names is not None
        _answer(
            model,
            lambda: new_rows.as_features(features, new_rows.rows_of_csv(file.getvalue(), d, blocks, named)),
        )
    elif d <= FORM_COLUMNS and not blocks:
        start = np.zeros((1, d)) if example is None else example
        table = pd.DataFrame(start, columns=names or [f"x{j + 1}" for j in range(d)])
        told = "." if example is None else "; the first row is the first training point."
        st.caption(f"Or type them here{told}")
        edited = st.data_editor(table, num_rows="dynamic", hide_index=True, key="form")
        rows = edited.dropna().to_numpy(dtype=float)
        if len(rows):
            _answer(model, lambda: new_rows.as_features(features, rows))


def _answer(model: SSLSOP, inputs: Callable[[], Any]) -> None:
    """Predictions of new inputs, with the labelled points behind them; or what is wrong with the inputs."""
    try:
        X = inputs()
        outputs = model.predict(X)
        why = model.explain(X[0] if isinstance(X, list) or not hasattr(X, "tocsr") else X[:1])
    except ValueError as error:
        st.error(plain(error), icon=":material/block:")
        return
    table = pd.DataFrame(
        {"input": range(1, len(outputs) + 1), "output": [text_of(model.space_, output) for output in outputs]}
    )
    if isinstance(model.space_, LabelSets):
        table["labels"] = [sum(output or ()) for output in outputs]
    st.dataframe(table, hide_index=True, width="content")
    st.download_button(
        "Predictions, CSV",
        to_csv(table),
        "predictions.csv",
        on_click="ignore",
        icon=":material/download:",
    )
    points = ", ".join(f"{point} ({share:.0%})" for point, share in why.sources[:5])
    parts = [f"from the labelled training points {points}" if points else "", point_panel.from_start(why)]
    if any(parts):
        st.caption(f"Input 1 comes {' and '.join(filter(None, parts))}.")
