"""Votes of several places add up to the votes of all."""

import numpy as np

from sslsop_core.votes import Ballots, Votes, added, cheapest, in_order, no_ballots


def ballots(*named):
    """From triples (point, output, weight)."""
    points, outputs, weights = zip(*named, strict=True)
    at = np.cumsum([0, *map(len, outputs)])
    return Ballots(np.array(points), np.concatenate(outputs).astype(np.int16), at, np.array(weights))


def named(some):
    outputs = [some.codes[a:b].tolist() for a, b in zip(some.at, some.at[1:], strict=False)]
    return list(zip(some.points.tolist(), outputs, some.weights.tolist(), strict=True))


def test_equal_ballots_of_a_point_count_together_where_the_first_was():
    some = ballots((0, [1, 2], 0.5), (0, [2, 2], 0.125), (0, [1, 2], 0.25), (3, [1], 1.0), (4, [1], 2.0))
    assert named(some.distinct()) == [
        (0, [1, 2], 0.75), (0, [2, 2], 0.125), (3, [1], 1.0), (4, [1], 2.0)
    ]  # fmt: skip


def test_ballots_of_several_places_keep_the_order_of_the_places():
    here, there = ballots((1, [0, 1, 0], 1.0), (2, [1], 2.0)), ballots((0, [1, 1], 3.0), (1, [1, 1, 1], 4.0))
    assert [weight for *_, weight in named(in_order([here, there]))] == [3.0, 1.0, 4.0, 2.0]


def test_votes_cut_into_pieces_add_up_to_themselves():
    rng = np.random.default_rng(0)
    starts = np.array([0, 2, 3, 6, 7])
    whole = Votes(
        rng.normal(size=(7, 3)),
        rng.normal(size=(4, 3, 3)),
        np.array([True, False, True, True]),
        ballots((0, [1, 2], 0.5), (2, [0, 0, 1], 0.25), (2, [1, 0, 1], 0.125), (3, [2], 1.0)),
    )
    pieces = [(np.arange(lo, hi), whole.between(lo, hi, starts)) for lo, hi in ((0, 1), (1, 3), (3, 4))]
    again = added(pieces[::-1], starts)
    assert np.array_equal(again.sums, whole.sums)
    assert np.array_equal(again.transitions, whole.transitions)
    assert np.array_equal(again.reached, whole.reached)
    assert named(again.ballots) == named(whole.ballots)


def test_what_two_places_say_about_a_point_is_summed():
    starts = np.arange(3)
    one = Votes(np.ones((1, 2)), np.zeros((1, 0, 0)), np.array([True]), no_ballots(np.dtype(np.int16)))
    both = added([(np.array([1]), one), (np.array([1]), one)], starts)
    assert both.sums.tolist() == [[0.0, 0.0], [2.0, 2.0]]
    assert both.reached.tolist() == [False, True]


def test_the_cheapest_candidate_wins_and_the_first_of_equal_ones():
    starts = np.array([0, 2, 3, 5])
    candidates = ballots((0, [1, 1], 0), (0, [2, 2], 0), (0, [3, 3], 0), (2, [4, 4], 0), (2, [5, 5], 0))
    Y = np.array([0, 0, 7, 0, 0], dtype=np.int16)
    costs = np.array([2.0, 1.0, 1.0, 3.0, 0.5])
    assert cheapest(candidates, costs, Y, starts).tolist() == [2, 2, 7, 5, 5]
