"""The simulation study of studies/, in a version of two seconds."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from scipy import stats as scipy_stats


@pytest.fixture(scope="module")
def study() -> ModuleType:
    path = Path(__file__).parents[2] / "studies" / "size_and_coverage.py"
    spec = importlib.util.spec_from_file_location("size_and_coverage", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclass looks itself up there
    spec.loader.exec_module(module)
    return module


def test_size_and_coverage_within_binomial_bounds(study: ModuleType) -> None:
    """No cell of the table has more errors than 5 % explains; each bound's verdict is its test's."""
    shares = list(study.simulate(1000, seed=2))
    assert len(shares) == 63
    assert [share for share in shares if share.excessive] == []
    lines = study.table(shares).splitlines()
    assert len(lines) == 2 + 9
    assert lines[2].startswith("| normal | 10 | 0.0")


def test_binomial_bound_against_scipy(study: ModuleType) -> None:
    limit = int(scipy_stats.binom.isf(1e-4, 1000, 0.05))
    assert not study.Share("normal", 10, "any", limit - 1, 1000).excessive
    assert study.Share("normal", 10, "any", limit + 2, 1000).excessive
