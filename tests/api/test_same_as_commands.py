"""Python and the command line answer alike: the same text, the same table, the same JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from tests.command import O2, O3, ROOT, speedproof

import speedproof as sp
from speedproof.cli.command import ClickOption
from speedproof.cli.main import every_command

GCC = (O2, O3)
SESSION, FAULTS, SIZES = (f"{ROOT}/examples/{name}/session.jsonl" for name in ("gzip", "faults", "sizes"))
CONFIG = str(ROOT / "tests" / "data" / "speedup_test_tool" / "plain.csv")

Ask = Callable[[], Any]


def gcc(**more: Any) -> sp.Suite:
    return sp.read(*GCC, **more)


# The words of a command, and the same question in Python.
BOTH = " ".join(GCC)
ASKED: dict[str, Ask] = {
    f"compare {BOTH}": lambda: sp.compare_suite(gcc()),
    f"compare {BOTH} --reference O3 --confidence 99%":
        lambda: sp.compare_suite(gcc(reference="O3"), confidence=0.99),
    f"compare {O2} --reference sum --only s*":
        lambda: sp.compare_suite(sp.read(O2, reference="sum", only="s*")),
    f"compare {BOTH} --margin 2% --only s*": lambda: sp.compare_suite(gcc(only="s*"), margin="2%"),
    f"compare {BOTH} --protocol median --skip sieve":
        lambda: sp.compare_suite(gcc(skip="sieve"), protocols="median"),
    f"compare {BOTH} --quantile 0.975 --only s*": lambda: sp.compare_suite(gcc(only="s*"), protocols="p97.5"),
    f"gate {BOTH} --quantile 0.975 --only s*": lambda: sp.gate(gcc(only="s*"), protocol="p97.5"),
    f"compare {BOTH} {SESSION} --metric time": lambda: sp.compare_suite(sp.read(*GCC, SESSION, metric="time")),
    f"compare {BOTH} --confidence 50%": lambda: sp.compare_suite(gcc(), confidence="50%"),
    f"compare {SESSION} --metric time": lambda: sp.compare_suite(sp.read(SESSION, metric="time")),
    f"gate {BOTH}": lambda: sp.gate(gcc()),
    f"gate {BOTH} --margin 40% --confidence 99% --multiplicity none":
        lambda: sp.gate(gcc(), margin=0.4, confidence=0.99, multiplicity="none"),
    f"gate {BOTH} --policy proven-improvement --protocol mean":
        lambda: sp.gate(gcc(), policy="proven-improvement", protocol="mean"),
    f"gate {BOTH} --policy equivalence --margin 5% --skip m*":
        lambda: sp.gate(gcc(skip="m*"), policy="equivalence", margin=0.05),
    f"hpt {BOTH}": lambda: sp.hpt(gcc()),
    f"hpt {BOTH} --reference O3 --speedup 1.1 --r 0.9 --rule paper --literal-signs": lambda: sp.hpt(
        gcc(), reference="O3", speedups=[1.1], confidences=[0.9], rule="paper", literal_signs=True),
    f"rank {BOTH} --only sieve": lambda: sp.rank(gcc(only="sieve")),
    f"rank {SESSION} --metric time --only *.py --confidence 90%":
        lambda: sp.rank(sp.read(SESSION, only="*.py"), metric="time", confidence=0.9),
    f"model {GCC[0]} --bootstrap 0 --max-components 3":
        lambda: sp.model(sp.read(GCC[0]), bootstrap=0, max_components=3),
    f"model {GCC[0]} --bootstrap 20 --only sieve --seed 2 --max-components 2":
        lambda: sp.model(sp.read(GCC[0], only="sieve"), bootstrap=20, seed=2, max_components=2),
    f"suite {CONFIG}": lambda: sp.speedup_test(CONFIG),
    f"suite {CONFIG} --confidence 99% --weight equal --precision 10% --always-welch":
        lambda: sp.speedup_test(CONFIG, confidence=0.99, weighting="equal", precision=0.1, always_welch=True),
}  # fmt: skip


def without_hints(text: str) -> str:
    """A sheet without the options that would show more, which Python has other words for."""
    plain = re.sub(r"(^|    +)--[a-z]+: .*$", "", text, flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", plain).rstrip("\n")


@pytest.mark.parametrize("words", ASKED, ids=lambda words: words.replace(str(ROOT), ""))
def test_text_details_tables_and_json(words: str, tmp_path: Path) -> None:
    found, argv = ASKED[words](), words.split()
    code, out, err = speedproof(*argv)
    assert (without_hints(out), err) == (without_hints(str(found)), "")
    assert code == getattr(found, "exit_code", 0)
    whole = {"everything": True} if argv[0] == "gate" else {"everything": True, "details": True}
    told = "\n\n".join(map(str, found.reports(**whole)))
    options = ["--all"] if argv[0] == "gate" else ["--all", "--details"]
    assert without_hints(speedproof(*argv, *options)[1]) == without_hints(told)
    assert json.loads(speedproof(*argv, "--json")[1]) == json.loads(found.to_json())
    sp.report(found, tmp_path / "out.md")
    own = re.findall(r"^\|.*", (tmp_path / "out.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert own
    assert {*own} <= {*speedproof(*argv, "--markdown", "-")[1].splitlines()}


@pytest.mark.parametrize(("words", "key", "ask"), [
    (f"compare {FAULTS} --why", "why", lambda s: sp.why(s)),
    (f"compare {SIZES} --metric time --over n", "over",
     lambda s: sp.compare_suite(s.select(metric="time")).over("n")),
], ids=["why", "over"])  # fmt: skip
def test_what_a_comparison_says_beside_its_sheet(words: str, key: str, ask: Any) -> None:
    """The rows that an option adds are those of the method, in text and in JSON."""
    argv = words.split()
    found = ask(sp.read(argv[1]))
    code, out, _ = speedproof(*argv, "--all", "--details")
    told = "\n".join(map(str, found.reports(everything=True, details=True)))
    rows = [line for line in told.splitlines() if "   " in line]
    assert (code, len(rows) > 3, [row for row in rows if row not in out.splitlines()]) == (0, True, [])
    assert json.loads(speedproof(*argv, "--json")[1])[key] == json.loads(found.to_json())["results"]
    assert [one.benchmark for one in found] == [found[one.benchmark].benchmark for one in found]
    with pytest.raises(sp.SpeedproofError, match=r"only: command"):
        found["other"]


def read(*argv: str) -> tuple[set[str], dict[tuple[str, ...], Any]]:
    """What the JSON of a command says of X against Y, whichever command it is: one reader."""
    fields = set[str]()
    told: dict[tuple[str, ...], Any] = {}
    for result in json.loads(speedproof(*argv, "--json")[1])["results"]:
        fields |= {*result}
        versions = result["reference"], result["candidate"], result["metric"]
        for c in result["comparisons"]:
            told[*versions, c["benchmark"], c["protocol"]] = {**c, "needed": None}
    return fields, told


@pytest.mark.parametrize("files", [(SESSION,), GCC], ids=["session", "files"])
def test_one_reader_of_every_command(files: tuple[str, ...], tmp_path: Path) -> None:
    """The same numbers and verdicts in the same places; of a gate and a corpus all but what nobody asked."""
    asked = *files, "--margin", "2%"
    fields, compared = read("compare", *asked)
    typical = {key: c for key, c in compared.items() if key[-1] == "typical"}
    assert len(typical) > 5
    assert read("gate", *asked) == (fields, typical)
    if len(files) == 1:
        assert read("run", "--review", *asked) == (fields, compared)
    pytest.importorskip("duckdb")
    corpus, (x, y) = sp.Corpus.build(files, tmp_path / "c"), sp.read(*files).versions[:2]
    assert read("corpus", "compare", str(tmp_path / "c"), *asked[-2:], "--details") == (fields, compared)
    alike = corpus.compare(pairs=[(x, y)], workers=1), corpus.compare(reference=x, candidate=y, workers=1)
    assert str(alike[0]) == str(alike[1])


def test_a_default_is_one_in_python_on_the_command_line_and_in_its_help() -> None:
    """Of every number that two of them give; flags are off."""
    called = {"watch": "alarms", "suite": "speedup_test", "run": "measure", "plot": "pictures"}
    found = set()
    for name, command in every_command().items():
        home, _, action = name.rpartition(" ")
        function = getattr(getattr(sp, home.title(), sp), called.get(action, action), None)
        asked = signature(function).parameters if callable(function) else {}
        for p in (p for p in command.params if isinstance(p, ClickOption)):
            assert not p.is_flag or p.default is False
            given, told = asked.get(p.name or ""), re.search(r"default: ([\d.]+)(%?)", p.help or "")
            if given and told and isinstance(given.default, int | float):
                assert given.default == float(told[1]) / (100 if told[2] else 1)
            if isinstance(p.default, int | float):
                found.add((name, p.name))
                in_python = asked[p.name].default if p.name in asked else None
                assert in_python in (None, p.default)
                if not p.is_flag and told:
                    assert p.default == float(told[1]) / (100 if told[2] else 1)
    assert found >= {("model", "bootstrap"), ("history watch", "every"), ("corpus changes", "confidence")}
