"""Everything a person can set about a run, as one value: to train, to share as a URL, to write a script."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from sslsop_core import SSLSOP, OutputSpace
from sslsop_core.learner import CHOICES

UPLOAD = "upload"
AS_DATA = "data"  # the metric that the problem itself names
ANCHORS = ("auto", True, False)
MOST_TURNS = 500


@dataclass(frozen=True)
class Settings:
    """The data and the parameters of SSLSOP; names as in the core."""

    data: str = "digits"
    knobs: tuple[tuple[str, Any], ...] = ()
    labeled: float = 0.05
    data_seed: int = 0
    k: int = 8
    C: float = 0.01
    eta: float | str = 5.0
    max_iter: int = 50
    output_step: str = "exact"
    init: str = "spread"
    metric: str = AS_DATA
    weights: str = "heat"
    kernel: str = "linear"
    intercept: bool = False
    anchor: bool | str = "auto"
    random_state: int = 0

    def parameters(self, data_metric: str) -> dict[str, Any]:
        """What `SSLSOP` takes."""
        values = {name: value for name, value in asdict(self).items() if name in PARAMETERS}
        return values | {"metric": data_metric if self.metric == AS_DATA else self.metric}

    def model(self, space: OutputSpace, data_metric: str) -> SSLSOP:
        return SSLSOP(space, n_jobs=2, **self.parameters(data_metric))

    def to_query(self) -> dict[str, str]:
        """Only what differs from the defaults, so that links stay short; the data set always."""
        plain = asdict(Settings())
        changed = {name: value for name, value in asdict(self).items() if value != plain[name]}
        texts = {name: str(value) for name, value in changed.items()}
        return {"data": self.data} | texts | ({"knobs": json.dumps(dict(self.knobs))} if self.knobs else {})


PARAMETERS = frozenset(SSLSOP().get_params()) & {field.name for field in fields(Settings)}


def from_query(query: Mapping[str, str], names: frozenset[str]) -> Settings:
    """Settings of a shared URL; what is unknown, or makes no sense, keeps its default.

    Parameters
    ----------
    names : data sets that a URL may ask for.
    """
    settings = Settings()
    for field in fields(Settings):
        if field.name in query:
            value = _parsed(field.name, getattr(settings, field.name), query[field.name], names)
            settings = replace(settings, **{field.name: value})
    return settings


def from_saved(saved: Mapping[str, Any], names: frozenset[str]) -> Settings:
    """Settings that were kept as JSON, by the same checks; the data may be an upload."""
    texts = {name: str(value) for name, value in saved.items()}
    knobs = saved.get("knobs")
    if isinstance(knobs, list | tuple) and all(isinstance(pair, list | tuple) for pair in knobs):
        texts["knobs"] = json.dumps({str(pair[0]): pair[-1] for pair in knobs if pair})
    return from_query(texts, names | {UPLOAD})


def _parsed(name: str, default: Any, text: str, names: frozenset[str]) -> Any:
    choices: dict[str, Iterable[Any]] = {
        **CHOICES,
        "data": names,
        "metric": (AS_DATA, *CHOICES["metric"]),
        "anchor": ANCHORS,
    }
    if name in choices:
        return next((value for value in choices[name] if str(value) == text), default)
    if name == "knobs":
        return _parsed_knobs(text)
    if isinstance(default, bool):
        return text == "True"
    if name == "eta" and text == "auto":
        return text
    try:
        value = type(default)(text)
    except ValueError:
        return default
    low, high = BOUNDS[name]
    return value if low <= value <= high else default


def _parsed_knobs(text: str) -> tuple[tuple[str, Any], ...]:
    """Knobs of a data set from a URL; whether it has them is checked when it is loaded."""
    try:
        found = json.loads(text)
    except ValueError:
        return ()
    if not isinstance(found, dict) or not all(
        isinstance(value, (bool, int, float)) for value in found.values()
    ):
        return ()
    return tuple(sorted(found.items()))


BOUNDS: dict[str, tuple[float, float]] = {
    "labeled": (0.001, 1.0),
    "data_seed": (0, 10_000),
    "k": (2, 200),
    "C": (0.0, 1.0),
    "eta": (1e-3, 100.0),
    "max_iter": (1, MOST_TURNS),
    "random_state": (0, 10_000),
}
