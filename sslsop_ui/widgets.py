"""Small help with widgets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st


def kept(key: str, default: object) -> str:
    """The key of a widget, which begins with the default and keeps what is set across pages."""
    st.session_state.setdefault(key, default)
    return key


def between(
    label: str,
    key: str,
    values: tuple[Any, ...],
    start: tuple[Any, Any],
    form: Callable[[Any], str] = "{:g}".format,
) -> tuple[Any, ...]:
    """Those of the values that lie between the two ends that a person, or `set_ends`, sets."""
    low, high = st.session_state.get(f"ends {key}", start)
    inside = [value for value in values if low <= value <= high] or values
    # Only its first value makes the slider one with two ends: other ends are another slider.
    first = (inside[0], inside[-1])
    ends: Any = st.select_slider(label, values, first, form, key=f"{key} {first}", persist_state="session")
    return tuple(value for value in values if ends[0] <= value <= ends[1])


def set_ends(key: str, values: tuple[Any, ...]) -> None:
    """Where the slider of that key begins."""
    st.session_state[f"ends {key}"] = (values[0], values[-1])
