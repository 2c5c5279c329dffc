"""The studies run, seeded and small; their full tables stand in the manual."""

import importlib
import sys
from types import ModuleType

import pytest


def study(name: str) -> ModuleType:
    return importlib.import_module(f"studies.{name}")


def test_power_grows_with_the_sample() -> None:
    """Three shifted exponentials are no Gaussian mixture: found out more often at n = 300 than at 30."""
    module = study("mixture_calibration")
    small, large = (module.pvalues(False, n, [1.0], 40, seed=4, N=60, K_max=5)[0] for n in (30, 300))
    assert (large <= 0.05).mean() > (small <= 0.05).mean() + 0.1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"), [("mixture_calibration", ["--factors", "1"]), ("mixture_rounding", ["--steps", "1"])]
)
def test_studies_print_their_tables(
    name: str, options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [name, "--runs", "2", "--sizes", "20", *options])
    study(name).main()
    assert len(capsys.readouterr().out.splitlines()) >= 2
