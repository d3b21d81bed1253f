"""The map as a Streamlit component: a canvas of our own, because it must redraw in milliseconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from .map_data import Geometry
from .map_source import CSS, HTML, JS

_component = st.components.v2.component("sslsop_map", html=HTML, css=CSS, js=JS)


def show_map(
    key: str,
    geometry: Geometry,
    frames: dict[str, Any],
    overlay: dict[str, Any],
    *,
    height: int | None = None,
    around: int = 430,
    big: bool = False,
    whole: bool = True,
    on_selection: Callable[[], None] = lambda: None,
) -> None:
    """Draw the map; the points selected on it are in the session's state under its key.

    Without a height the map fills the window, less the pixels `around` it. `whole=False` leaves the
    geometry out of the message: the page has it already, and asks again if not.
    """
    asked = st.session_state.get(key)
    missing = asked is not None and getattr(asked, "missing", None) is not None
    _component(
        key=key,
        data={
            "version": geometry.version,
            "geometry": geometry.packed() if whole or missing else None,
            "frames": frames,
            "overlay": overlay,
            "height": height,
            "around": around,
            "big": big,
        },
        on_selection_change=on_selection,
        on_missing_change=lambda: None,
    )
