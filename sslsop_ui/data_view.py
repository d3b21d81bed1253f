"""The parts of the Data page: choosing, labelling, looking."""

from __future__ import annotations

from typing import Any

import streamlit as st

from sslsop_core import TreeLeaves, datasets
from sslsop_core.datasets import Problem, Record
from sslsop_core.diagnosis import token_starts

from . import figures, previews, state
from .frame import ASSETS
from .settings import UPLOAD
from .symbols import Symbols
from .texts import plain

WHERE = {"embedded": "Embedded", "benchmark": "Benchmarks", UPLOAD: "Own file"}
KINDS = {
    "classes": ("one of several classes", ":material/category:"),
    "tree": ("a leaf of a tree", ":material/account_tree:"),
    "sequences": ("a sequence of tags", ":material/linear_scale:"),
    "labelsets": ("a set of labels", ":material/sell:"),
}
TYPES = ["csv", "tsv", "parquet", "npz", "conll", "iob", "bio", "txt", "svm", "svmlight", "libsvm", "zip"]
EXAMPLES = {
    "flowers.csv": "table, the last column is the class",
    "films.csv": "table, columns label:* make label sets",
    "animals.csv": "table, with tree.csv its classes are leaves",
    "names.conll": "sentences, a token and its tag per line",
    "words.svm": "sparse rows, svmlight",
    "flowers.npz": "arrays X and y",
    "digits.zip": "images in a folder per class",
}


# --- choosing ----------------------------------------------------------------------------------------


def choose() -> Problem | None:
    """The problem that is chosen here, None as long as there is no file."""
    now = state.settings().data
    if "where" not in st.session_state:
        st.session_state["where"] = _place(now)
    where = st.segmented_control(
        "Where from",
        list(WHERE),
        format_func=WHERE.__getitem__,
        key="where",
        required=True,
        label_visibility="collapsed",
        width="stretch",
    )
    return upload() if where == UPLOAD else named(where == "embedded")


def _place(name: str) -> str:
    if name == UPLOAD:
        return UPLOAD
    return next("embedded" if r.embedded else "benchmark" for r in datasets.available() if r.name == name)


def named(embedded: bool) -> Problem | None:
    records = {record.name: record for record in datasets.available() if record.embedded == embedded}
    now = state.settings().data
    if now not in records:
        state.change(data=next(iter(records)), knobs=())
    name = st.selectbox(
        "Data set",
        list(records),
        key=state.key_of("data"),
        persist_state="session",
        on_change=state.change,
        kwargs={"knobs": ()},
        format_func=lambda n: f"{n} · {KINDS[records[n].kind][0]}",
    )
    _knobs(records[name])
    try:
        return state.problem()
    except (ValueError, OSError) as error:
        st.error(plain(error), icon=":material/cloud_off:")
        if not embedded:
            st.caption(
                "Benchmarks are read from the data folder (SSLSOP_DATA) and fetched if they are not there."
            )
        return None


def _knobs(record: Record) -> None:
    """What can be set about a set: numbers and switches only."""
    plain = {name: value for name, value in record.knobs.items() if isinstance(value, (bool, int, float))}
    if not plain:
        return
    with st.expander("Knobs", icon=":material/tune:"):
        now = dict(state.settings().knobs)
        chosen = {name: _knob(f"{record.name} {name}", name, now.get(name, plain[name])) for name in plain}
    changed = {name: value for name, value in chosen.items() if value != plain[name]}
    state.change(knobs=tuple(sorted(changed.items())))


def _knob(key: str, name: str, value: Any) -> Any:
    if isinstance(value, bool):
        return st.toggle(name, value, key=key)
    step = 1 if isinstance(value, int) else 0.05
    return st.number_input(name, value=value, step=step, min_value=type(value)(0), key=key)


# --- a file of one's own -----------------------------------------------------------------------------


def upload() -> Problem | None:
    file = st.file_uploader("A file with your data", TYPES, help="Up to 50 MB. Nothing leaves this machine.")
    tree = None
    if file is not None and file.name.endswith((".csv", ".tsv", ".parquet", ".npz", ".zip", ".svm")):
        tree = st.file_uploader("Optional: a tree of its classes (node, parent)", ["csv"])
    if file is None:
        if "upload" in st.session_state:
            state.change(data=UPLOAD)
        return st.session_state.get("upload")
    output = None
    if file.name.endswith((".csv", ".tsv", ".parquet")):
        output = (
            st.text_input(
                "Output column",
                help="Leave empty to let it be found: output, class, label, or the last column.",
            )
            or None
        )
    return _read(file, tree, output)


def _read(file: Any, tree: Any, output: str | None) -> Problem | None:
    mark = (file.file_id, tree.file_id if tree else None, output)
    if st.session_state.get("upload_mark") != mark:
        try:
            with st.spinner("Reading ..."):
                problem = datasets.read(file, tree=tree, output=output, name=file.name.rpartition(".")[0])
        except ValueError as error:
            st.error(plain(error), icon=":material/block:")
            return None
        state.keep_upload(problem, _source(file.name, tree and tree.name, output))
        st.session_state["upload_mark"] = mark
        st.session_state["keep"] = any(y is None for y in problem.y)  # the toggle below
        state.change(data=UPLOAD)
    if state.settings().data != UPLOAD:
        state.change(data=UPLOAD)
    return st.session_state["upload"]


def _source(name: str, tree: str | None, output: str | None) -> str:
    """How to read the same file in Python."""
    options = {"tree": tree, "output": output}
    told = "".join(f", {key}={value!r}" for key, value in options.items() if value is not None)
    return f"datasets.read({name!r}{told})"


def formats() -> None:
    """What can be uploaded, with small files to try."""
    st.subheader("Bring your own data", anchor=False)
    st.markdown(
        "Leave the output empty where it is missing: that is what will be learned. "
        "Try it with one of these small files:"
    )
    for name, what in EXAMPLES.items():
        with st.container(horizontal=True, vertical_alignment="center"):
            st.download_button(
                name,
                (ASSETS / "examples" / name).read_bytes(),
                name,
                key=f"example {name}",
                icon=":material/description:",
                on_click="ignore",
            )
            st.caption(what)


# --- labelling ---------------------------------------------------------------------------------------


def labels(problem: Problem) -> None:
    """How many of the known outputs training may see."""
    st.subheader("Labels", anchor=False)
    known = sum(y is not None for y in problem.y)
    st.session_state.setdefault("keep", state.settings().labeled >= 1)
    keep = st.toggle(
        "Use all outputs that are known",
        key="keep",
        help="Off: hide some, so that what is learned can be compared with the truth.",
    )
    if keep:
        state.change(labeled=1.0)
    else:
        if state.settings().labeled >= 1:
            state.change(labeled=0.3)
        percent = st.slider(
            "Labelled share",
            1,
            95,
            max(1, round(100 * state.settings().labeled)),
            format="%d%%",
            help="Every class keeps an example where possible.",
            key="percent",
        )
        seed = st.number_input(
            "Seed", 0, 10_000, state.settings().data_seed, key="label_seed", help="Which ones are hidden."
        )
        state.change(labeled=percent / 100, data_seed=seed)
    n_given = sum(y is not None for y in state.given())
    st.caption(
        f"**{n_given:,}** of {known:,} known outputs are given; **{len(problem) - n_given:,}** are to be "
        "learned."
    )
    if n_given == len(problem):
        st.info("Nothing is left to learn: hide some outputs.", icon=":material/visibility_off:")


# --- looking -----------------------------------------------------------------------------------------


def facts(problem: Problem) -> None:
    what, icon = KINDS[problem.kind]
    with st.container(border=True):
        st.markdown(f"{icon} **{plain(problem.name)}** · each output is {what}")
        if problem.description:
            st.caption(problem.description)
        with st.container(horizontal=True, gap="large"):
            st.metric("Points", f"{len(problem):,}")
            st.metric("Features", f"{problem.d:,}")
            st.metric("Outputs", len(problem.space))
            st.metric("Metric", problem.metric)
        if problem.source:
            st.caption(f"Source: {problem.source}. Licence: {problem.licence}.")
        if problem.report is not None:
            st.caption(plain(str(problem.report).partition("\n")[0]))
    for warning in problem.report.warnings if problem.report is not None else ():
        st.warning(plain(warning), icon=":material/info:")


def look(problem: Problem) -> None:
    given = state.given()
    names = ["Preview", "Balance", *(["Tree"] if isinstance(problem.space, TreeLeaves) else [])]
    tabs = st.tabs(names)
    with tabs[0]:
        if problem.d == 2 and problem.kind != "sequences":
            starts = token_starts(problem.X)
            codes = problem.space.encode(given, starts)
            symbols = Symbols(problem.space, codes, starts)
            st.plotly_chart(figures.scatter(problem.X, symbols(codes), symbols.names), key="scatter")
        else:
            previews.gallery(problem, given)
    with tabs[1]:
        st.plotly_chart(figures.balance(problem.space, problem.y, given), key="balance")
    if isinstance(problem.space, TreeLeaves):
        with tabs[2]:
            st.plotly_chart(figures.tree(problem.space, problem.y), key="tree")
