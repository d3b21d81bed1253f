"""What one visitor has set and is doing, and what all visitors share."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from typing import Any

import streamlit as st

from sslsop_core import datasets
from sslsop_core.datasets import Problem

from .maps import Maps
from .runs import Registry, Run
from .settings import UPLOAD, Settings, from_query

NAMES = frozenset(record.name for record in datasets.available())


# --- shared by all visitors --------------------------------------------------------------------------


@st.cache_resource(show_spinner=False)
def registry() -> Registry:
    found = Registry()
    found.reap_forever()
    return found


@st.cache_resource(show_spinner=False)
def maps() -> Maps:
    return Maps()


@st.cache_resource(max_entries=12, show_spinner="Loading the data ...")
def load_problem(name: str, knobs: tuple[tuple[str, Any], ...]) -> Problem:
    return datasets.load(name, **dict(knobs))


# --- settings ----------------------------------------------------------------------------------------


def key_of(name: str) -> str:
    """The session key of a setting: also the key of its widget, which keeps it across pages."""
    return f"set_{name}"


def prepare() -> None:
    """Give every setting a value: from the URL on the first page of a session, else the default."""
    if key_of("data") not in st.session_state:
        apply(from_query(st.query_params, NAMES))


def apply(settings: Settings) -> None:
    for name, value in asdict(settings).items():
        st.session_state[key_of(name)] = value


def settings() -> Settings:
    prepare()
    return Settings(**{field.name: st.session_state[key_of(field.name)] for field in fields(Settings)})


def change(**values: Any) -> None:
    """Set some of the settings; as a callback of a button, before widgets are drawn."""
    apply(replace(settings(), **values))


def reset() -> None:
    """All parameters as they were at first; the data stay."""
    now = settings()
    apply(Settings(data=now.data, labeled=now.labeled, data_seed=now.data_seed))


# --- data --------------------------------------------------------------------------------------------


def knobs(name: str) -> tuple[tuple[str, Any], ...]:
    """What was set about a generated problem, as far as it differs from its defaults."""
    return tuple(sorted(st.session_state.get("knobs", {}).get(name, {}).items()))


def problem() -> Problem:
    """The problem that is chosen now."""
    now = settings()
    if now.data == UPLOAD:
        return st.session_state["upload"]
    return load_problem(now.data, knobs(now.data))


def problem_key() -> Any:
    """What tells problems apart where maps are kept."""
    now = settings()
    return (now.data, knobs(now.data), id(st.session_state["upload"]) if now.data == UPLOAD else 0)


def given() -> list[Any]:
    """The outputs that training may see."""
    now, chosen = settings(), problem()
    return list(chosen.y) if now.labeled >= 1 else chosen.hide(labeled=now.labeled, seed=now.data_seed)


# --- the run -----------------------------------------------------------------------------------------


def run() -> Run | None:
    """The visitor's run: of this session, or, after a reload, of the URL."""
    name = st.session_state.get("run") or st.query_params.get("run")
    found = registry().get(name)
    if found is not None:
        if "run" not in st.session_state:
            apply(found.settings)
            if found.settings.data == UPLOAD:
                st.session_state["upload"] = found.problem
        st.session_state["run"] = found.id
        st.query_params["run"] = found.id
    else:
        st.query_params.pop("run", None)
    return found


def start_run() -> Run:
    """Train with the present settings; a run before it is stopped."""
    leave_run()
    begun = registry().create(problem(), given(), settings(), problem_key())
    st.session_state["run"] = begun.id
    begun.go()
    return begun


def leave_run() -> None:
    old = registry().get(st.session_state.pop("run", None))
    if old is not None:
        old.stop()
    st.session_state.pop("map", None)
