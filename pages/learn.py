"""Learn: the method in eight steps on points in the plane, for a class or for oneself."""

import streamlit as st

from sslsop_ui.frame import open_page

present = st.query_params.get("present") == "1"
open_page("Learn", sidebar="collapsed" if present else "expanded")

from sslsop_ui import lesson_page  # noqa: E402  (its imports are slow: the frame is drawn first)

lesson_page.show(present)
