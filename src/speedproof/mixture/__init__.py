"""Gaussian mixtures of one variable: ``sp.mixture.fit(x)``, goodness of fit, metrics, modes."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from speedproof.mixture.fitting import MixtureFit as MixtureFit
    from speedproof.mixture.fitting import fit as fit
    from speedproof.mixture.metrics import compare as compare
    from speedproof.mixture.model import MixtureModel as MixtureModel

__all__ = ["MixtureFit", "MixtureModel", "compare", "fit"]

_HOME = {"MixtureFit": "fitting", "MixtureModel": "model", "compare": "metrics", "fit": "fitting"}


def __getattr__(name: str) -> object:
    """Import a public name on its first use."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
