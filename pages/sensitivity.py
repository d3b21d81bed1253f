"""Sensitivity: how the loss depends on k, C, eta, T and the labelled share."""

import streamlit as st

from sslsop_ui import sensitivity_view, state, study_view, workbench
from sslsop_ui.frame import open_page

open_page("Sensitivity")
state.prepare()
problem = state.require_problem()
with st.sidebar:
    workbench.data_card(problem, labels=False)
    plan = sensitivity_view.choose(len(problem))
    n_jobs = study_view.choose_processes()

study_view.show("Sensitivity", plan, problem, n_jobs, sensitivity_view.draw, sensitivity_view.INVITE)
