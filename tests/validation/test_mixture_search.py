"""The best mixture is found: never worse than the best of 50 random starts of every K and model."""

import pytest
from studies.mixture_best_fits import worse_and_better


@pytest.mark.parametrize("large", [False, True])
def test_never_worse_than_the_best_of_random_starts(large: bool, full: bool) -> None:
    """Nor, of large samples, than mclust's rules."""
    count = (500, 50) if full else (40, 8)
    worse, _ = worse_and_better(count[large], 3 if large else 1, large=large)
    assert worse == []
