"""Home."""

import streamlit as st

from sslsop_ui.frame import open_page

open_page("Home")
st.header("SSLSOP Lab")
