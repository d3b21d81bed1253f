"""Compare: SSLSOP beside other methods on the same folds, live, with intervals and tests."""

import streamlit as st

from sslsop_ui import compare_view, state, study_view, workbench
from sslsop_ui.frame import open_page

open_page("Compare")
state.prepare()
problem = state.require_problem()
with st.sidebar:
    workbench.data_card(problem, labels=False)
    plan = compare_view.choose(problem)
    n_jobs = study_view.choose_processes()

study_view.show("Compare", plan, problem, n_jobs, compare_view.draw, compare_view.INVITE)
