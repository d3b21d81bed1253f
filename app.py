"""Home: what this is, with a finished run to play with."""

import streamlit as st

from sslsop_ui.demo import demo
from sslsop_ui.frame import open_page
from sslsop_ui.map_view import show_map
from sslsop_ui.settings import Settings

AROUND = 420  # pixels of everything but the map
# Few words have all their letters right when outputs only spread: sequences start from a shared predictor.
WORDS = Settings(data="ocr", labeled=0.1, init="guided", eta=1.0)
TASKS = {
    "Images": (Settings(data="digits"), "Which of ten digits is it?", ":material/image:"),
    "Leaves of a tree": (
        Settings(data="digits_tree"), "Mistakes far off in the tree cost more.", ":material/account_tree:"
    ),
    "Documents with links": (
        Settings(data="cora"), "Papers by their words and citations: which field?", ":material/article:"
    ),
    "Words, letter by letter": (WORDS, "Handwritten words: a letter for every image.", ":material/abc:"),
}  # fmt: skip

open_page("Home")
shown = demo()

st.title("A few labels, and their neighbors", anchor=False)
st.markdown(
    f"These are **{shown.n:,} handwritten digits**; only the **{shown.n_labeled} ringed ones** were "
    "labelled. Every point has a small predictor of its own, trained on its nearest neighbors, so outputs "
    f"spread from neighborhood to neighborhood. After {shown.frames['count'] - 1} iterations "
    f"**{shown.right:.0%}** of the others are right: press play, drag the slider, hover a point."
)
show_map("home", shown.geometry, shown.frames, shown.overlay, around=AROUND)
st.markdown("**Watch it happen on**")
for column, (label, (task, what, icon)) in zip(st.columns(4), TASKS.items(), strict=True):
    if column.button(label, icon=icon, width="stretch", key=f"task {task.data}", help=what):
        st.session_state["task"] = task
        st.switch_page("pages/train.py")
