"""What one visitor has set and is doing, and what all visitors share."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import asdict, fields, replace
from typing import Any
from urllib.parse import urlsplit

import streamlit as st

from sslsop_core import datasets
from sslsop_core.datasets import Problem
from sslsop_core.evaluation import Store

from .background import Registry
from .keeping import keeper
from .maps import Maps
from .runs import Run
from .settings import UPLOAD, Settings, from_query
from .studies import Study
from .texts import plain

LOOPBACK = ("127.0.0.1", "localhost", "::1")
NAMES = frozenset(record.name for record in datasets.available())


# --- shared by all visitors --------------------------------------------------------------------------


@st.cache_resource(show_spinner=False)
def registry() -> Registry[Run]:
    found: Registry[Run] = Registry()
    found.reap_forever()
    return found


@st.cache_resource(show_spinner=False)
def studies() -> Registry[Study]:
    found: Registry[Study] = Registry(at_once=1)
    found.reap_forever()
    return found


@st.cache_resource(show_spinner=False)
def store() -> Store:
    return Store()


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
    """On the first page of a session, take the run or the settings of the URL, else the defaults."""
    if key_of("data") in st.session_state:
        return
    found = registry().get(st.query_params.get("run"))
    study = studies().get(st.query_params.get("study"))
    if found is not None:
        st.session_state["run"] = found.id
        take_over(found.settings, found.problem, found.source, found.key)
    elif study is not None:
        take_over(study.plan.app, study.problem, study.source, study.key)
    else:
        apply(from_query(st.query_params, NAMES))


def take_over(settings: Settings, problem: Problem | None, source: str, key: Any) -> None:
    """Make the settings of a run or a study the present ones, with its data if they came from a file."""
    if settings.data == UPLOAD and problem is None:  # a kept study of a file that is not here
        settings = replace(settings, data=Settings.data, knobs=())
    apply(settings)
    if problem is not None and settings.data == UPLOAD:
        keep_upload(problem, source, key)


def apply(settings: Settings) -> None:
    for name, value in asdict(settings).items():
        st.session_state[key_of(name)] = value


def settings() -> Settings:
    prepare()
    return Settings(**{field.name: st.session_state[key_of(field.name)] for field in fields(Settings)})


def change(**values: Any) -> None:
    """Set some of the settings, before their widgets are drawn."""
    for name, value in values.items():
        st.session_state[key_of(name)] = value


def reset() -> None:
    """All parameters as they were at first; the data stay."""
    now = settings()
    apply(Settings(data=now.data, knobs=now.knobs, labeled=now.labeled, data_seed=now.data_seed))


# --- data --------------------------------------------------------------------------------------------


def problem() -> Problem:
    """The problem that is chosen now."""
    now = settings()
    if now.data == UPLOAD:
        return st.session_state["upload"]
    return load_problem(now.data, now.knobs)


def keep_upload(problem: Problem, source: str, key: Any = None) -> None:
    """A file of one's own as the data of this session.

    The key is an object of its own: the id of a problem may be that of a forgotten one, of somebody else.
    """
    st.session_state["upload"], st.session_state["upload_source"] = problem, source
    st.session_state["upload_key"] = key or object()


def problem_key() -> Any:
    """What tells problems apart where maps are kept."""
    now = settings()
    return st.session_state["upload_key"] if now.data == UPLOAD else (now.data, now.knobs)


def problem_source() -> str:
    """The Python expression that makes the problem."""
    now = settings()
    if now.data == UPLOAD:
        return st.session_state["upload_source"]
    told = "".join(f", {name}={value!r}" for name, value in now.knobs)
    return f"datasets.load({now.data!r}{told})"


def require_problem() -> Problem:
    """The problem, or a page that says why there is none and how to get one."""
    try:
        return problem()
    except (ValueError, OSError) as error:
        st.error(plain(error), icon=":material/error:")
        st.button("Back to the digits", on_click=change, kwargs={"data": "digits", "knobs": ()})
        st.stop()


def given() -> list[Any]:
    """The outputs that training may see; which these are is drawn when something changes."""
    now, chosen = settings(), problem()
    if now.labeled >= 1:
        return list(chosen.y)
    key = problem_key(), now.labeled, now.data_seed
    if "given" not in st.session_state or st.session_state["given"][0] != key:
        st.session_state["given"] = key, chosen.hide(labeled=now.labeled, seed=now.data_seed)
    return list(st.session_state["given"][1])


def facts() -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings and sizes that say nothing about whose data it is."""
    found = registry().get(st.session_state.get("run"))
    sizes: dict[str, Any] = {} if found is None else found.sizes()
    return asdict(settings()), sizes


# --- the run -----------------------------------------------------------------------------------------


def run() -> Run | None:
    """The visitor's run; the URL keeps its name, so that a reload finds it again."""
    prepare()
    found = registry().get(st.session_state.get("run"))
    if found is not None:
        st.query_params["run"] = found.id
    else:
        st.query_params.pop("run", None)
    return found


def in_progress() -> Iterator[tuple[str, str, float]]:
    """What works for this visitor: the page that shows it, words, and the share that is done."""
    found = run()
    if found is not None and found.active:
        told = f"Training {plain(found.problem.name)}: {found.n_iter} / {found.target}"
        yield "Train", told, min(1.0, found.n_iter / max(found.target, 1))
    for key in [key for key in st.session_state if str(key).startswith("study ")]:
        study = studies().get(st.session_state[key])
        if study is not None and study.active:
            page = "Compare" if study.plan.kind == "compare" else "Sensitivity"
            told = f"{page}, {plain(study.data)}: {len(study.cells)} / {study.total}"
            yield page, told, min(1.0, len(study.cells) / max(study.total, 1))


def start_run(turns: int | None = None) -> None:
    """Train with the present settings, to the end or so many turns; a run before it is stopped."""
    leave_run()
    slots = registry().slots
    begun = registry().add(
        Run(problem(), given(), settings(), slots, problem_key(), problem_source(), keeper(store, owner()))
    )
    st.session_state["run"] = begun.id
    begun.go(turns)


def leave_run() -> None:
    old = registry().get(st.session_state.pop("run", None))
    if old is not None:
        old.stop()
        old.left = True
    st.session_state.pop("chosen", None)


def owner() -> str:
    """Whose runs this visitor's are: "" on one's own machine; where others come too, a random name."""
    host = urlsplit(st.context.url or "").hostname
    if st.get_option("server.address") in LOOPBACK and host in (None, *LOOPBACK):
        return ""
    if "owner" not in st.session_state:
        told = st.query_params.get("visitor", "")
        st.session_state["owner"] = told if len(told) >= 16 else secrets.token_urlsafe(12)
    st.query_params["visitor"] = st.session_state["owner"]  # a reload, or a bookmark, finds them again
    return st.session_state["owner"]
