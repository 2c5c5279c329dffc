"""The best mixture is found: on 500 samples never worse than the best of 50 random starts of every K and model."""

from studies.mixture_best_fits import worse_and_better


def test_never_worse_than_the_best_of_random_starts() -> None:
    worse, _ = worse_and_better(500, 1)
    assert worse == []
