"""Packages that are called like functions: ``speedproof.measure(...)`` beside ``speedproof.measure.execute``."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _CallableModule(ModuleType):
    """A package with a public function of the same name, which an import of the package would hide."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        module, name = vars(self)["_called"]
        return getattr(import_module(module), name)(*args, **kwargs)


def make_callable(package: str, module: str, name: str) -> None:
    """Let a package be called: it calls a function, which is imported then."""
    found = sys.modules[package]
    found.__class__ = _CallableModule
    vars(found)["_called"] = module, name
