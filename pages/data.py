"""Data: choose a set or bring a file, see what is in it, decide how much of it is labelled."""

import streamlit as st

from sslsop_ui import data_view, state
from sslsop_ui.frame import open_page

open_page("Data")
state.prepare()
state.run()

head, action = st.columns([2, 1], vertical_alignment="center")
head.header("Data", anchor=False)
with action, st.container(horizontal=True, horizontal_alignment="right"):
    go_on = st.button("Train on this", type="primary", icon=":material/arrow_forward:")

choice, view = st.columns([1.3, 2], gap="medium")
with choice:
    problem = data_view.choose()
    if problem is not None:
        data_view.labels(problem)
with view:
    if problem is None:
        data_view.formats()
    else:
        data_view.facts(problem)
        data_view.look(problem)

if go_on:
    if problem is None:
        st.toast("Choose a file first, or one of the sets.", icon=":material/upload:")
    else:
        state.leave_run()
        st.switch_page("pages/train.py")
