"""Runs: everything that was run, to be found, compared, named, deleted, taken away and opened again."""

import streamlit as st

from sslsop_ui import runs_view, state
from sslsop_ui.frame import open_page
from sslsop_ui.texts import plain

open_page("Runs")
state.prepare()

st.header("Runs", anchor=False)
try:
    runs_view.show()
except (ValueError, OSError) as error:  # the store is damaged, or not ours
    st.error(plain(error), icon=":material/error:")
