"""What nobody says is the same everywhere, as the manual says: 5 % of risk, 80 % of power, ten blocks."""

import importlib
import inspect
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import speedproof

DOCUMENTED: dict[str, Any] = {
    "alpha": 0.05, "confidence": 0.95, "power": 0.8, "precision": 0.05, "K_max": 9,
    "seed": 0, "metric": "time", "gamma": 1.0, "edge": 1.0, "equal": 1.0, "share": 0.5, "side": 1,
    "min_blocks": 10, "min_change": 0.01, "slack": 0.5, "shift": 0.0,
    "look": 1, "looks": 1, "family": (0, 1), "block": 0, "failed": 0, "left_behind": 0, "lacking": 0,
    "exit": 0, "load": 0.0, "resolution": 0.0, "more_runs": 0.0, "less": False, "slower": False,
    "always_welch": False, "f_test_when_not_normal": False, "literal": False,
    "literal_signs": False, "relative": False, "fixed": False, "stop_at_proof": False, "paired": False,
    "higher_is_better": False, "capture": False,
    "timed_out": False,
    "together": (1, False),
    "printed": False, "again": False, "certified_attained": False, "supremum_attained": False,
    "independent": True, "stepped": True, "check": True, "limit": 5 << 30,
    "multiplicity": "holm", "method": "holm", "protocol": "typical", "scope": "these", "quantity": "speedup",
    "repeated": "run", "stdin": "/dev/null", "program": ("", "perf"), "shell": ("", "sh"),
    "margin": (0.0, 0.02), "rule": ("conditional", "exact", "legacy"), "ks_rule": ("legacy", "r422"),
    "resamples": (200, 9999), "runs": (0, 1), "tied": (0, 0.0, False), "least": (1e-3, False), "visible": math.nan,
    "enough_noise": math.nan,
}  # fmt: skip


def options() -> Iterator[tuple[str, str, Any]]:
    root = Path(speedproof.__file__).parent
    for part in ("stats", "protocols", "measuring"):
        for path in sorted((root / part).glob("[a-z]*.py")):
            module = importlib.import_module(f"speedproof.{part}.{path.stem}")
            own = [one for one in vars(module).values() if getattr(one, "__module__", "") == module.__name__]
            members = [
                f for one in own if inspect.isclass(one) for f in vars(one).values() if inspect.isfunction(f)
            ]
            for one in (*own, *members):
                try:
                    parameters = inspect.signature(one).parameters.values()
                except (TypeError, ValueError, NameError):  # NameError: annotations for type checkers only
                    continue
                for p in parameters:
                    if isinstance(p.default, bool | int | float | str):
                        yield f"{path.stem}.{getattr(one, '__qualname__', one)}", p.name, p.default


def test_defaults() -> None:
    found = list(options())
    assert len(found) > 100
    for place, name, default in found:
        if name in DOCUMENTED:
            known = DOCUMENTED[name]
            several = known if isinstance(known, tuple) else (known,)
            assert any(repr(default) == repr(one) for one in several), (place, name)


@pytest.mark.parametrize("name", ["alpha", "confidence", "power", "seed", "metric", "min_blocks"])
def test_the_documented_options_are_there(name: str) -> None:
    assert any(name == told for _, told, _ in options())
