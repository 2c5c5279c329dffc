"""The studies run, seeded and small; their full tables stand in the manual."""

import importlib
import sys
from types import ModuleType

import numpy as np
import pytest
from scipy import stats


def study(name: str) -> ModuleType:
    return importlib.import_module(f"studies.{name}")


@pytest.mark.slow
def test_size_of_the_test_under_undersampling() -> None:
    """At n = 50, c = 0.9 true mixtures are rejected at 5 % no more often than a binomial bound allows."""
    (p,) = study("mixture_calibration").pvalues(True, 50, [0.9], 80, seed=3, N=100)
    assert stats.binomtest(int((p <= 0.05).sum()), 80, 0.05, alternative="greater").pvalue > 1e-3
    (again,) = study("mixture_calibration").pvalues(True, 50, [0.9], 5, seed=3, N=100)
    np.testing.assert_array_equal(again, p[:5])


def test_power_grows_with_the_sample() -> None:
    """Three shifted exponentials are no Gaussian mixture: found out more often at n = 300 than at 30."""
    module = study("mixture_calibration")
    small, large = (module.pvalues(False, n, [1.0], 40, seed=4, N=60, K_max=5)[0] for n in (30, 300))
    assert (large <= 0.05).mean() > (small <= 0.05).mean() + 0.1


@pytest.mark.slow
def test_rounding_is_seen_and_survived() -> None:
    r = study("mixture_rounding").rejections(60, 1.0, 10, N=40)
    assert r["plain"] >= 0.5
    assert r["aware"] < 0.3
    assert r["detected"] == r["matters"] == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"), [("mixture_calibration", ["--factors", "1"]), ("mixture_rounding", ["--steps", "1"])]
)
def test_studies_print_their_tables(
    name: str, options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [name, "--runs", "2", "--sizes", "20", *options])
    study(name).main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 2
