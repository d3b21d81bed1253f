"""Beside the map: what a point is, why it has its output, and giving outputs by hand."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pandas as pd
import streamlit as st

from sslsop_core import Explanation, LabelSets, Sequences, TreeLeaves
from sslsop_core.splits import is_complete

from . import state
from .previews import enlarged, kind_of_input, show_input
from .runs import Run
from .symbols import text_of
from .texts import plain

SOURCES = 12
LEAST_TOLD = 0.005
NARROW = 60  # pixels of a column of numbers: the panel is narrow
MORE_TURNS = 10


def choose(points: list[int]) -> None:
    """Select points, on the map and for the panel."""
    st.session_state["chosen"] = points


def chosen(run: Run) -> list[int]:
    """The points that are selected; none if they belong to another problem."""
    points = st.session_state.get("chosen", [])
    return points if all(0 <= i < len(run.problem) for i in points) else []


def _choose_typed() -> None:
    number = st.session_state["point number"]
    choose([] if number is None else [number])


def sources(run: Run, points: list[int]) -> tuple[tuple[int, float], ...]:
    """The labelled points that the output of the chosen point comes from, with their shares."""
    return explanation(run, points[0]).sources[:SOURCES] if len(points) == 1 and _at_rest(run) else ()


def explanation(run: Run, i: int) -> Explanation:
    """`explain`, once per point and state of the run."""
    mark = (run.id, run.n_iter, len(run.edits), i)
    if st.session_state.get("explained", (None,))[0] != mark:
        st.session_state["explained"] = (mark, run.model.explain(i))
    return st.session_state["explained"][1]


def _at_rest(run: Run) -> bool:
    return bool(run.turns) and not run.active


def show(run: Run, points: list[int]) -> None:
    with st.container(border=True):
        if not _at_rest(run):
            st.markdown("**Training**")
            st.caption("Pause, or wait for the end, to ask about points and to label them by hand.")
        elif not points:
            _invite(run)
        elif len(points) == 1:
            _one(run, points[0])
        else:
            _many(run, points)


def _invite(run: Run) -> None:
    st.markdown("**Why this output?**")
    st.caption(
        ":material/ads_click: Click a point to see its input, its history, who voted and which labelled "
        "points it comes from.\n\n:material/gesture: Lasso or Shift-drag to choose many, and label them by "
        "hand."
    )
    st.number_input(
        "Or type its number", 0, len(run.problem) - 1, None, key="point number", on_change=_choose_typed
    )
    _undo(run)


def _one(run: Run, i: int) -> None:
    space, output, given = run.problem.space, run.model.outputs_[i], run.given[i]
    st.markdown(f"**Point {i}**")
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.badge(plain(text_of(space, output)), color="blue" if output is not None else "gray")
        names, true = space.names, run.problem.y[i]
        how = "learned" if given is None else "given" if is_complete(given, names) else "partly given"
        st.badge(how, color="gray" if given is None else "green")
        if is_complete(true, names) and true != output:
            st.badge(f"truly {plain(text_of(space, run.problem.y[i]))}", color="red", icon=":material/close:")
    show_input(run.problem, i, output, "input")
    st.caption("History: " + plain(_history(run, i)))
    why, near, hand = st.tabs(["Why", "Neighbors", "Label"])
    with why:
        _votes(run, explanation(run, i))
    with near:
        _neighbors(run, i)
    with hand:
        _label(run, [i])


def _history(run: Run, i: int) -> str:
    """Outputs over time, only where they changed."""
    space, own = run.problem.space, slice(run.starts[i], run.starts[i + 1])
    steps, last = [], None
    for turn in run.turns:
        text = text_of(space, space.decode(turn.iteration.outputs[own])[0])
        if text != last:
            steps.append(f"{text} ({turn.iteration.t})")
            last = text
    shown = steps if len(steps) <= 8 else [*steps[:3], f"... {len(steps) - 7} more ...", *steps[-4:]]
    return " → ".join(shown)


def _votes(run: Run, why: Explanation) -> None:
    space = run.problem.space
    if not why.votes:
        st.caption("No neighborhood that has learned anything contains this point.")
        return
    counts = Counter(text_of(space, vote.output) for vote in why.votes)
    told = ", ".join(f"**{count}** for {plain(name)}" for name, count in counts.most_common(4))
    st.markdown(f"{len(why.votes)} neighborhoods vote: {told}.")
    votes = pd.DataFrame(
        {
            "around": [vote.neighborhood for vote in why.votes],
            "votes for": [text_of(space, vote.output) for vote in why.votes],
            "lead": [vote.score - vote.runner_up_score for vote in why.votes],
        }
    )
    st.dataframe(
        votes,
        hide_index=True,
        height=_height(len(votes), 5),
        column_config={
            "around": st.column_config.NumberColumn(width=NARROW, help="The point whose neighborhood votes"),
            "lead": st.column_config.NumberColumn(
                format="%.2f",
                width=NARROW,
                help=f"Its score of {plain(text_of(space, why.output))} "
                f"minus that of {plain(text_of(space, why.runner_up))}",
            ),
        },
    )
    if told := from_start(why):
        st.markdown(f"{told}.")
    if why.sources:
        _sources(run, why)


def from_start(why: Explanation) -> str:
    """The part of the shared predictor, in words; nothing where it has none to speak of."""
    told = f"{why.shared:.0%} from the shared start, which all labelled points trained"
    return told if why.shared >= LEAST_TOLD else ""


def _sources(run: Run, why: Explanation) -> None:
    st.markdown("From these labelled points (dashed on the map):")
    top, space = why.sources[:6], run.problem.space
    if kind_of_input(run.problem) == "images":
        pictures = [enlarged(run.problem.inputs[j], 40) for j, _ in top]
        st.image(
            pictures, caption=[f"{plain(text_of(space, run.given[j]))} · {w:.0%}" for j, w in top], width=44
        )
        return
    rows = [{"point": j, "output": text_of(space, run.given[j]), "share": w} for j, w in top]
    st.dataframe(
        rows,
        hide_index=True,
        height=_height(len(rows), 5),
        column_config={
            "point": st.column_config.NumberColumn(width=NARROW),
            "share": st.column_config.NumberColumn(format="percent", width=NARROW),
        },
    )


def _neighbors(run: Run, i: int) -> None:
    graph, outputs = run.model.graph_, run.model.outputs_
    rows = [
        {
            "point": int(j),
            "output": text_of(run.problem.space, outputs[j]),
            "distance": float(distance),
            "given": run.given[j] is not None,
        }
        for j, distance in zip(graph.neighbors[i], graph.distances[i], strict=True)
        if j != i
    ]
    st.dataframe(
        rows,
        hide_index=True,
        height=_height(len(rows), 9),
        column_config={"distance": st.column_config.NumberColumn(format="%.3g")},
    )


def _height(rows: int, most: int) -> int:
    return 37 + 35 * min(rows, most)


# --- many, and by hand -------------------------------------------------------------------------------


def _many(run: Run, points: list[int]) -> None:
    st.markdown(f"**{len(points)} points**")
    outputs = run.model.outputs_
    counts = Counter(text_of(run.problem.space, outputs[i]) for i in points)
    rows = [{"output": name, "points": count} for name, count in counts.most_common(8)]
    st.dataframe(rows, hide_index=True, height=_height(len(rows), 6))
    _label(run, points)


def _label(run: Run, points: list[int]) -> None:
    output = _editor(run, points)
    with st.container(horizontal=True):
        st.button(
            "Give",
            type="secondary",
            icon=":material/label:",
            on_click=_relabel,
            disabled=output is None,
            args=(dict.fromkeys(points, output),),
            help="Fix this output from here on",
        )
        taken = {i: None for i in points if run.given[i] is not None}
        st.button(
            "Take away",
            icon=":material/label_off:",
            on_click=_relabel,
            args=(taken,),
            disabled=not taken,
            help="Let it be learned again",
        )
    _undo(run)


def _editor(run: Run, points: list[int]) -> Any:
    """A widget for one output of the space."""
    space, i = run.problem.space, points[0]
    now = run.model.outputs_[i]
    if isinstance(space, Sequences):
        return _tags(run, i, now) if len(points) == 1 else None
    if isinstance(space, LabelSets):
        held = [] if now is None else [n for n, bit in zip(space.names, now, strict=True) if bit]
        picked = st.pills(
            "Labels", space.names, selection_mode="multi", default=held, format_func=plain, key=f"labels {i}"
        )
        return tuple(int(name in picked) for name in space.names)
    names = list(space.names)
    if isinstance(space, TreeLeaves):  # an inner node says: some leaf below
        names += [node for node in space.nodes if node not in space.names and node != space.root]
    where = names.index(now) if now in names else 0
    return st.selectbox("Output", names, index=where, format_func=str, key=f"output {i}")


def _tags(run: Run, i: int, now: Any) -> Any:
    space, length = run.problem.space, int(run.starts[i + 1] - run.starts[i])
    by_name = {str(name): name for name in space.names}
    short = all(len(name) == 1 for name in by_name)
    text = st.text_input(
        "Tags",
        text_of(space, now) if now is not None else "",
        key=f"tags {i}",
        help=f"{length} tags" + ("" if short else ", separated by spaces") + "; ? leaves one to be learned",
    )
    parts = list(text.strip()) if short else text.split()
    strange = sorted({part for part in parts if part != "?" and part not in by_name})
    if strange or len(parts) != length:
        wrong = f"no such tag: {', '.join(strange)}" if strange else f"{len(parts)} tags for {length} tokens"
        st.caption(f":red[{plain(wrong)}]")
        return None
    return tuple(None if part == "?" else by_name[part] for part in parts)


def _relabel(changes: dict[int, Any]) -> None:
    run = state.run()
    if run is not None:
        try:
            run.relabel(changes)
        except ValueError as error:
            st.session_state["refused"] = str(error)


def _undo(run: Run) -> None:
    if refused := st.session_state.pop("refused", ""):
        st.error(plain(refused))
    if not run.edits:
        return
    told = sum(len(edit.changes) for edit in run.edits)
    st.caption(f"{told} output{'s' if told > 1 else ''} changed by hand.")
    with st.container(horizontal=True):
        st.button("Undo", icon=":material/undo:", on_click=run.undo)
        st.button(
            f"Go on, {MORE_TURNS} iterations",
            icon=":material/play_arrow:",
            on_click=run.more,
            args=(MORE_TURNS,),
        )
