"""What the protocols hold on to."""

from __future__ import annotations

import gc

import numpy as np

from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair
from speedproof.options import DETAILS
from speedproof.protocols.pair import PreparedPairs
from speedproof.protocols.questions import answers


def test_answered_pairs_leave_memory_at_once() -> None:
    """Without a look for circles, which parts of a corpus do without."""
    rng = np.random.default_rng(1)
    left = []
    for _ in range(2):  # what is imported first leaves circles, too
        gc.collect()
        gc.disable()
        pairs = [Pair(Key(name), *(Sample(rng.normal(10.0, 1.0, 12)) for _ in "xy")) for name in "ab"]
        prepared = PreparedPairs(pairs)
        for question in DETAILS:
            assert len(answers(question, prepared)) == 2
        del pairs, prepared
        left.append(gc.collect())
        gc.enable()
    assert left[1] == 0
