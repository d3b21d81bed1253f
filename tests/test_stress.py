"""Parameters and numbers that nobody should use: a finite result or a reason, never nonsense in silence."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sslsop_core import SSLSOP, Classes, baselines
from sslsop_core.learner import CHOICES

from .problems import KINDS, make

quick = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
METHODS = [*baselines.COMPETITORS, *baselines.CONTROLS, *baselines.ADAPTERS]

# On an edge, beyond it, or of another kind altogether.
STRANGE: tuple[Any, ...] = (
    0, 1, 2, -1, 3, 0.0, -0.0, 0.5, 1.0, 1e-300, 1e-12, 1e12, 1e300, float("nan"), float("inf"), -1e-9,
    None, "auto", "", "exact", True, False, (), [], {}, np.float32(0.1), np.int64(3), np.array(2), 1j, "🙂",
)  # fmt: skip


@st.composite
def problems(draw, kinds=tuple(KINDS)) -> tuple[Any, list[Any], Any]:
    """X, y and space: few points in any unit of measurement, rows repeated, some outputs hidden."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    twin = make(draw(st.sampled_from(kinds)), rng, n=draw(st.integers(2, 10)), d=draw(st.integers(1, 4)))
    unit = 10.0 ** draw(st.sampled_from([0, 0, 0, -170, -30, -8, 8, 30, 120, 160]))
    dtype = draw(st.sampled_from([np.float64, np.float32]))
    with np.errstate(over="ignore"):
        X = [(unit * x).astype(dtype) for x in twin.X]
    if draw(st.booleans()):
        X[1:] = [X[0]] * (len(X) - 1) if twin.space.kind != "sequences" else X[1:]
    y = [output if i == 0 or rng.random() < 0.5 else None for i, output in enumerate(twin.truth)]
    return X if twin.space.kind == "sequences" else np.array(X), y, twin.space


def some_parameters(draw, method: type) -> dict[str, Any]:
    """A strange value for up to three parameters, any choice for those that have choices."""
    names = [name for name in inspect.signature(method).parameters if name not in ("space", "n_jobs")]
    strange = draw(st.dictionaries(st.sampled_from(names), st.sampled_from(STRANGE), max_size=3))
    chosen = {
        name: draw(st.sampled_from(choices))
        for name, choices in CHOICES.items()
        if method is SSLSOP and name != "search"  # the approximate one takes long to compile
    }
    return {"max_iter": 4} | chosen | strange if "max_iter" in names else strange


def require_sound(model: Any, X: Any, y: list[Any]) -> None:
    """Everything a person sees of a trained model: given outputs kept, outputs for all, finite numbers."""
    assert all(found == said for found, said in zip(model.outputs_, y, strict=True) if said is not None)
    assert not np.isinf([turn.objective for turn in model.history_]).any()
    assert len(model.predict(X)) == len(y)
    if model.space_.kind != "sequences":
        assert np.isfinite(model.decision_function(X)).all()


def fitted_or_refused(method: type, parameters: dict[str, Any], problem: tuple[Any, list[Any], Any]) -> None:
    X, y, space = problem
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = method(space, **parameters).fit(X, y)
            require_sound(model, X, y)
    except ValueError as error:
        if len(str(error)) < 15:
            raise AssertionError("an error must say what is wrong") from error


@quick
@given(st.data())
def test_sslsop_with_any_parameters_gives_a_result_or_a_reason(data):
    fitted_or_refused(SSLSOP, some_parameters(data.draw, SSLSOP), data.draw(problems()))


@quick
@given(st.data())
def test_a_competitor_with_any_parameters_gives_a_result_or_a_reason(data):
    method = data.draw(st.sampled_from(METHODS))
    kinds = [kind for kind in KINDS if make(kind, np.random.default_rng(0)).space.kind in method.kinds]
    fitted_or_refused(method, some_parameters(data.draw, method), data.draw(problems(kinds)))


# --- numbers -----------------------------------------------------------------------------------------


def two_clouds(unit: float, dtype=np.float64) -> tuple[np.ndarray, list[Any]]:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 1, (20, 3)), rng.normal(6, 1, (20, 3))])
    return (unit * X).astype(dtype), ["a", *[None] * 38, "b"]


@pytest.mark.parametrize("exponent", [-30, -12, 12, 30, 100])
@pytest.mark.parametrize("method", [SSLSOP, *METHODS], ids=lambda method: method.__name__)
def test_the_unit_of_measurement_does_not_matter(method, exponent):
    X, y = two_clouds(10.0**exponent)
    model = method(Classes("ab")).fit(X, y)
    require_sound(model, X, y)
    plain = method(Classes("ab")).fit(two_clouds(1.0)[0], y)
    if method is not baselines.SelfTraining:  # scikit-learn's scales nothing by itself
        assert list(model.outputs_) == list(plain.outputs_)


@pytest.mark.parametrize(("exponent", "said"), [(-30, "too small to square"), (30, "too large to square")])
def test_numbers_beyond_single_precision_are_said(exponent, said):
    X, y = two_clouds(10.0**exponent, np.float32)
    with pytest.raises(ValueError, match=said):
        SSLSOP().fit(X, y)


def test_an_outlier_hears_its_neighbors_however_far_they_are():
    X, y = two_clouds(1.0)
    X[5] = 1e6
    for init in ("spread", "guided"):
        model = SSLSOP(k=5, init=init).fit(X, y)
        assert None not in model.outputs_.tolist()
        assert model.predict([[1e9, 1e9, 1e9]])[0] in ("a", "b")


@pytest.mark.parametrize("q", [1, 2, 10_000])
def test_one_to_ten_thousand_classes(q):
    X, _ = two_clouds(1.0)
    y = [i % q if i % 2 else None for i in range(40)]
    model = SSLSOP(Classes(range(q)), k=4, max_iter=5, init="spread").fit(X, y)
    require_sound(model, X, y)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "k"), [(2, 1), (2, 2), (9, 8)])
def test_the_smallest_data_and_the_largest_neighborhoods(kind, n, k):
    twin = make(kind, np.random.default_rng(0), n=n)
    y = [twin.truth[0], *[None] * (n - 1)]
    require_sound(SSLSOP(twin.space, k=k).fit(twin.X, y), twin.X, y)
