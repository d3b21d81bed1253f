"""Colours of outputs. Ten that stay apart for every common kind of colour vision, on light and dark."""

COLORS = [
    "#445fce",
    "#f18d24",
    "#009d7d",
    "#a80490",
    "#4db7f9",
    "#f33143",
    "#646300",
    "#f597bf",
    "#8c3f47",
    "#38e270",
]
GREY = "#9aa3b2"
RIGHT, WRONG = COLORS[2], COLORS[5]


def color_of(code: int) -> str:
    """The colour of an output; from the eleventh on they repeat and the map changes the shape."""
    return COLORS[code % len(COLORS)] if code >= 0 else GREY
