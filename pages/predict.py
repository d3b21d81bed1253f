"""Predict & export: take the run away, or use a model on new inputs."""

import streamlit as st

from sslsop_ui import predict_view, state
from sslsop_ui.frame import open_page

open_page("Predict & export")
state.prepare()
run = state.run()

st.header("Predict & export", anchor=False)
export, predict = st.tabs(["Export", "Predict"])
with export:
    predict_view.export(run)
with predict:
    predict_view.predict(run)
