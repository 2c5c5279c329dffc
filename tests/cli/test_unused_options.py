"""An option that changes nothing where it is given is refused: whoever gives it expects it to matter."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from speedproof.cli.console import Console
from speedproof.cli.main import command, main

VALUES = {"--max-components": "2", "--last": "5", "--every": "9", "--confidence": "0.9"}


def refused(*argv: str) -> str:
    """What is said where nothing is done."""
    out, err = io.StringIO(), io.StringIO()
    assert main(list(argv), Console(out, err)) == 2, out.getvalue()
    assert out.getvalue() == ""
    assert err.getvalue().count("\n") == 1, err.getvalue()
    return err.getvalue().removeprefix("speedproof: error: ").rstrip("\n")


@pytest.fixture(autouse=True)
def _two_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, least in (("a.txt", 10), ("b.txt", 20)):
        Path(name).write_text("".join(f"{least + k % 7}\n" for k in range(12)))


ONE_AND_ANOTHER = [
    ("compare a.txt b.txt", "--with-samples", "--json"),
    ("model a.txt --bootstrap 0", "--delta 1", "--metrics"),
    ("run true true", "--parameter-step-size 2", "--parameter-scan"),
    ("run --suite s.toml", "-D 2", "--parameter-scan"),
    ("gate --baseline a.txt --candidate b.txt", "--open o.txt", "--look"),
]


@pytest.mark.parametrize(("words", "option", "other"), ONE_AND_ANOTHER)
def test_what_belongs_to_another_option(words: str, option: str, other: str) -> None:
    told = refused(*words.split(), *option.split())
    assert told.startswith(option.split()[0].replace("-D", "--parameter-step-size"))
    assert other in told


EXCLUDED = [
    *(("model a.txt --components 2", o) for o in ("--max-components 3", "--bootstrap 9", "--fast",
                                                  "--undersampling 0.8", "--ignore-rounding")),
    *(("model a.txt --bootstrap 0", o) for o in ("--fast", "--undersampling 0.8", "--ignore-rounding")),
    ("compare a.txt b.txt", "--ks-rule r422"),
    ("compare a.txt b.txt", "--bootstrap"),
    ("compare a.txt b.txt --details", "--bootstrap"),
    ("compare a.txt b.txt --protocol median", "--always-welch"),
    ("compare a.txt b.txt --protocol mean", "--ks-rule r422"),
    *(("rank a.txt b.txt", o) for o in ("--resamples 20", "--max-components 2", "--seed 1", "--jobs 2")),
    *((f"plot a.txt b.txt -o p.svg --kind {kind}", "--max-components 2") for kind in ("qq", "forest")),
    *((f"run true true {mode}", o)
      for mode in ("--calibrate", "--plan --revisions A")
      for o in ("--fail-on slower", "--margin 1%", "--precision 1%", "--stop-at-proof", "--gate")),
    ("run true --calibrate", "--min-runs 5"),
    *(("run true true --gate", o) for o in ("--fail-on slower", "--stop-at-proof", "--precision 1%")),
    ("run true true --precision 1%", "--stop-at-proof"),
    ("run true true --runs 12", "--stop-at-proof"),
    *(("run true", o) for o in ("--fail-on slower", "--margin 1%", "--precision 1%", "--gate", "--stop-at-proof")),
    ("run --driver go go", "-P n 1 3"),
    ("history query --output rows.csv", "--json"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "option"), EXCLUDED)
def test_what_means_nothing_beside_another_option(words: str, option: str) -> None:
    told = refused(*words.split(), *option.split())
    names = {option.split()[0], *(o for o in ("--parameter-scan",) if option.startswith("-P"))}
    assert any(name in told for name in names), told
    assert not list(Path.cwd().glob("speedproof*"))


HISTORY = {
    "add": "--commit --session --anchor --machine --unit --where --benchmark --format --higher-is-better --json",
    "changes": "--benchmark --metric --branch --commit --machine --state --confidence --fdr --fail-on-change --all"
    " --json",
    "show": "--metric --machine --branch --confidence --fdr --fail-on-change --json",
    "watch": "--benchmark --metric --machine --on-alarm --branch --every --last --all --json",
    "page": "--metric --branch --confidence --fdr --compare --output",
    "query": "--benchmark --metric --machine --commit --output --all --json",
    "export": "",
    "import": "",
    "bless": "--benchmark",
    "invalid": "--benchmark",
    "fixed": "--benchmark",
    "forget": "",
}


@pytest.mark.parametrize("action", HISTORY)
def test_an_action_of_the_history_takes_its_own_options_only(action: str) -> None:
    heeded = {"--store", "--repository", "--color", "--help", *HISTORY[action].split()}
    taken = {
        option for p in command(f"history {action}").params for option in p.opts if option.startswith("--")
    }
    assert taken == heeded
    assert "unknown option --margin" in refused("history", action, "word", "--margin", "1%")
    assert not Path("speedproof.db").exists()


@pytest.mark.parametrize("words", ["watch sort", "show sort print", "changes sort"])
def test_words_that_an_action_does_not_read(words: str) -> None:
    assert words.split()[0] in refused("history", *words.split())


CORPUS = {"compare": ("--append", "--components 3", "--fdr", "--bootstrap", "--ks-rule r422"),
          "model": ("--margin 1%", "--details", "--reference a"),
          "info": ("--where a=1", "--workers 2"), "query": ("--where a=1", "--metric x"),
          "build": ("--json", "--metric x", "--workers 2"), "changes": ("--details", "--seed 1")}  # fmt: skip


@pytest.mark.parametrize(("action", "option"), [(a, o) for a, os in CORPUS.items() for o in os])
def test_an_action_on_a_corpus_takes_its_own_options_only(action: str, option: str) -> None:
    assert option.split()[0] in refused("corpus", action, "c", *option.split())


def test_readers_of_tables_are_not_asked_of_other_files() -> None:
    """What says how a CSV file is read means nothing where no file is one."""
    for option in ("--column value=x", "--wide benchmark", "--benchmark-columns a", "--version-column v"):
        told = refused("compare", "a.txt", "b.txt", *option.split())
        assert "no file named is CSV" in told


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "x"])
def test_the_size_of_a_cache_is_a_size(value: str) -> None:
    assert value in refused("cache", "--limit", value)


@pytest.mark.parametrize("option", ["--seed", "--jobs"])
def test_pictures_are_drawn_without_chance_and_without_threads(option: str) -> None:
    assert refused("plot", "a.txt", "-o", "p.svg", option, "1").startswith(f"unknown option {option}")
