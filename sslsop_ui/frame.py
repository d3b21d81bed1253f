"""What every page starts with: title, logo, sidebar, and the run that this visitor is in."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from . import diagnostics, trouble, warmup

HERE = Path(__file__).resolve().parent.parent
ASSETS = HERE / "assets"
PAGES = {
    "Experiment": (
        ("app.py", "Home", ":material/home:"),
        ("pages/data.py", "Data", ":material/database:"),
        ("pages/train.py", "Train", ":material/hub:"),
        ("pages/predict.py", "Predict & export", ":material/download:"),
    ),
    "Study": (
        ("pages/compare.py", "Compare", ":material/bar_chart:"),
        ("pages/sensitivity.py", "Sensitivity", ":material/tune:"),
        ("pages/runs.py", "Runs", ":material/history:"),
        ("pages/learn.py", "Learn", ":material/school:"),
    ),
}


def open_page(title: str, *, sidebar: str = "expanded") -> None:
    """Set up the page; the first call of every page."""
    trouble.set_up_log()
    st.set_page_config(
        page_title=f"{title} · SSLSOP Lab",
        page_icon=str(ASSETS / "favicon.png"),
        layout="wide",
        initial_sidebar_state=sidebar,  # type: ignore[arg-type]
    )
    st.logo(str(ASSETS / "logo.svg"), size="large")
    with st.sidebar:
        for section, pages in PAGES.items():
            st.caption(section)
            for path, label, icon in pages:
                if (HERE / path).exists():
                    st.page_link(path, label=label, icon=icon, width="stretch")
    _warm_up_once()
    if any(
        str(key) == "run" or str(key).startswith("study ") for key in (*st.session_state, *st.query_params)
    ):
        _status(title)
    told = "To copy into a report: no names of files or classes, no data."
    with st.sidebar, st.popover("Diagnostics", icon=":material/bug_report:", type="tertiary", help=told):
        st.code(_diagnostics(), language=None, wrap_lines=True)


def _diagnostics() -> str:
    if not any(str(key).startswith("set_") for key in st.session_state):  # nothing is set yet
        return diagnostics.report({}, {})
    from . import state  # slow to import: only when there is something to tell

    return diagnostics.report(*state.facts())


@st.cache_resource(show_spinner=False)
def _warm_up_once() -> None:
    warmup.start()


def _status(page: str) -> None:
    """How the run and studies go, on pages that do not show them; looking keeps them from being given up."""
    from . import state  # slow to import: only when there is something to tell

    def show() -> None:
        for shown_on, told, share in state.in_progress():
            if page != shown_on:
                st.progress(share, told)

    with st.sidebar:
        st.fragment(show, run_every=1.0 if list(state.in_progress()) else None)()
