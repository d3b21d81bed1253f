"""The Learn page: one step at a time, in words, as an equation, as a picture."""

from __future__ import annotations

import streamlit as st

from .lessons import LESSONS

# Sizes that are read from the last row; only sizes, no content.
LARGE = """<style>
.stMain .stMarkdown p { font-size: 1.5rem; line-height: 1.45; }
.stMain .katex { font-size: 1.35em; }
.stMain h2 { font-size: 2.4rem; }
</style>"""


def show(present: bool) -> None:
    """`present`: large type, one button, nothing to set up."""
    if present:
        st.html(LARGE)
    step = _step()
    lesson = LESSONS[step]
    _head(step, present)
    st.markdown(lesson.words)
    if lesson.equation:
        st.latex(lesson.equation, help=f"Equation {lesson.number} of the paper")
    lesson.show(present)


def _step() -> int:
    asked = st.query_params.get("step", "1")
    return min(max(int(asked) if asked.isdigit() else 1, 1), len(LESSONS)) - 1


def _head(step: int, present: bool) -> None:
    title, buttons = st.columns([1, 1.25], vertical_alignment="center")
    title.header(f"{step + 1}. {LESSONS[step].title}", anchor=False)
    with buttons, st.container(horizontal=True, horizontal_alignment="right"):
        st.toggle(
            "Presenter view",
            present,
            key="present",
            on_change=_present,
            help="Large type, and nothing but the lesson.",
        )
        st.button("Back", icon=":material/arrow_back:", disabled=step == 0, on_click=_go, args=(step - 1,))
        last = step == len(LESSONS) - 1
        st.button(
            "Start again" if last else "Next",
            type="primary",
            on_click=_go,
            args=(0 if last else step + 1,),
            icon=":material/replay:" if last else ":material/arrow_forward:",
        )
    st.progress((step + 1) / len(LESSONS))


def _go(step: int) -> None:
    st.query_params["step"] = str(step + 1)


def _present() -> None:
    if st.session_state["present"]:
        st.query_params["present"] = "1"
    else:
        st.query_params.pop("present", None)
