"""What the house promises to those who extend it: a new question is a module and an entry in the registry."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import speedproof as sp
from speedproof.data.sample import Sample
from speedproof.data.suite import Key
from speedproof.protocols import questions
from speedproof.protocols.median import compare_medians
from speedproof.protocols.pair import Rules
from speedproof.protocols.results import Comparison


def slower_half(s: Sample) -> Sample:
    return replace(s, values=s.values[s.values >= np.median(s.values)], processes=None)


def compare_slower_halves(reference: Sample, candidate: Sample, rules: Rules, key: Key) -> Comparison:
    """A question of our own: how the medians of the slower halves compare."""
    found = compare_medians(slower_half(reference), slower_half(candidate), rules, key)
    return replace(found, protocol="slower half")


def test_a_question_of_ones_own_is_found_everywhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In a pair's answers, in a suite's, in JSON and in the table."""
    name: Any = "slower half"
    ask = questions.one_by_one(compare_slower_halves)
    own = questions.Question(name, "Slower half", "in the slower half", "speedup", ask)
    monkeypatch.setitem(questions.QUESTIONS, name, own)
    suite = sp.read("O2=examples/gcc/O2.json", "O3=examples/gcc/O3.json")
    s = sp.compare_suite(suite, protocols=("median", name))
    assert s["matmul"].by(name).verdict is sp.Verdict.FASTER
    assert "slower half" in s.to_json()
    sp.report(s, tmp_path / "table.csv")
    assert ",slower half,faster," in (tmp_path / "table.csv").read_text(encoding="utf-8")
