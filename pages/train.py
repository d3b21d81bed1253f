"""Train: set the parameters, run Algorithm 1, watch the outputs spread, ask why, label by hand."""

import streamlit as st

from sslsop_ui import controls, state, workbench
from sslsop_ui.frame import open_page

open_page("Train")
state.prepare()
if task := st.session_state.pop("task", None):  # a button of the first page
    state.apply(task)
    state.start_run()

problem = state.require_problem()
with st.sidebar:
    workbench.data_card(problem)
    controls.parameters(problem)
    fits = controls.cost(problem)

workbench.show(state.run(), fits)
