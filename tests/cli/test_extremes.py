"""Values at the ends of the range of doubles, through the commands: no warning, no crash, the same answers.

Warnings are errors here, as everywhere in the tests.
"""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import shapiro
from tests.command import refused, speedproof, write

from speedproof.mixture.model import MixtureModel

MODEL = MixtureModel([0.5, 0.5], [700.0, 900.0], [20.0, 20.0])


@pytest.mark.parametrize("power", [-1070, -700, 600, 1010])
def test_compare_answers_alike_in_every_unit(power: int) -> None:
    """Speedups, bounds, p-values and checks are those of the same values in another unit."""

    def answer(shift: int) -> list[dict[str, Any]]:
        # Values of ten bits, which stay exact where a double has only a few bits left.
        files = [write(f"{i}.txt", np.ldexp(np.round(MODEL.rvs(40, i)) + 30 * i, shift)) for i in (1, 2)]
        _, out, _ = speedproof("compare", *files, "--unit", "ops", "--json")
        return list(json.loads(out)["results"][0]["comparisons"])

    for usual, extreme in zip(answer(0), answer(power), strict=True):
        for name in ("state", "test", "pvalue", "pvalue_slower", "verdict", "needed"):
            assert extreme[name] == usual[name]
        for part in ("value", "low", "high"):
            assert extreme["speedup"][part] == pytest.approx(usual["speedup"][part], rel=1e-12)
        for side in ("reference", "candidate"):
            for location in ("mean", "median", "minimum", "deviation", "mad"):
                expected = float(np.ldexp(usual[side][location], power))
                assert extreme[side][location] == pytest.approx(expected, rel=1e-12, abs=5e-324)
        assert [c["held"] for c in extreme["checks"]] == [c["held"] for c in usual["checks"]]


def test_versions_of_any_two_sizes_are_compared() -> None:
    """A factor beyond the largest double is told as that; nothing else of the comparison is lost."""
    files = [write("a.txt", 1e305 * MODEL.rvs(40, 1)), write("b.txt", 1e-322 * MODEL.rvs(40, 2))]
    _, out, _ = speedproof("compare", *files, "--unit", "s", "--protocol", "mean")
    assert "b is faster than a in mean\nproven: faster, but not by how much (95 % confidence)" in out
    near = [write("c.txt", 1e305 * MODEL.rvs(40, 1)), write("d.txt", MODEL.rvs(40, 2))]
    for given in (files, near):
        _, out, _ = speedproof("compare", *given, "--unit", "s", "--json", "--protocol", "mean")
        (found,) = json.loads(out)["results"][0]["comparisons"]
        for check, file in zip(found["checks"][:2], given, strict=True):
            values = np.loadtxt(file)
            assert check["pvalue"] == pytest.approx(shapiro(values / values[0]).pvalue, rel=0.1)


SAMPLES = {
    "plain": [1.0, 1.1, 1.2, 1.05, 1.07, 1.12], "constant": [1.0] * 6, "zeros": [0.0] * 6,
    "onezero": [0.0, 1.0, 1.1, 1.2, 1.3, 1.1], "negative": [-1.0, -2.0, -1.5, -1.2, -1.1, -1.3],
    "signs": [-1.0, 2.0, 1.5, -1.2, 1.1, 1.3], "single": [1.0], "least": [5e-324] * 6,
    "most": [1.7e308, 1.6e308, 1.5e308, 1.7e308, 1.65e308, 1.2e308], "endless": [1.0, float("inf"), 1.1, 1.2],
    "unknown": [1.0, float("nan"), 1.1, 1.2], "empty": [],
}  # fmt: skip
NO_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:nan|inf(?:inity)?)(?![\w.])", re.IGNORECASE)
SCRIPT = re.compile(r"<script.*?</script>", re.DOTALL)


@pytest.fixture
def odd() -> None:
    for name, values in SAMPLES.items():
        write(f"{name}.txt", values)


@pytest.mark.slow
@pytest.mark.usefixtures("odd")
@pytest.mark.parametrize("command", [
    "compare --details --margin 2%", "compare --explain", "compare --json", "compare --csv -",
    "compare --markdown -", "compare --html -", "compare --latex -", "gate", "gate --json", "hpt",
    "hpt --json", "rank", "rank --resamples 10 --json", "model --bootstrap 5", "model --bootstrap 5 --json",
    "show", "show --json", "suite", "suite --json", "suite --html -", "suite --markdown -", "suite --original",
    "suite --weight fraction",
])  # fmt: skip
def test_no_display_shows_what_is_no_number(command: str) -> None:
    """Every sample against a plain one, either way, and against itself; of a suite its four files, too."""
    name, *options = command.split()
    answered, pairs = 0, [(old, new) for s in SAMPLES for old, new in {("plain", s), (s, "plain"), (s, s)}]
    for number, chosen in enumerate([*([pair] for pair in pairs), *([pairs] if name == "suite" else [])]):
        if name in ("model", "show") and chosen[0][0] != "plain":
            continue
        level = "0.95" if number % 2 else ""
        rows = [f"{old} {new},{old}.txt,{new}.txt,{level},1\n" for old, new in chosen]
        Path("c.csv").write_text("".join(["Name,Sample1,Sample2,ConfLevel,Coef\n", *rows]))
        files = ["c.csv"] if name == "suite" else [f"{side}.txt" for side in chosen[0]]
        code, out, err = speedproof(name, *files, *options)
        assert code in (0, 1, 2, 3), (chosen, err)
        if code == 2:
            continue
        answered += 1
        written = [p for p in Path().glob("c.*") if p.suffix in (".report", ".out")]
        for shown in (SCRIPT.sub("", out), *(p.read_text().replace("Inf", "as R has it") for p in written)):
            assert NO_NUMBER.search(shown) is None, (chosen, shown)
            assert "e+02 %" not in shown
        if "--json" in options:
            json.loads(out, parse_constant=pytest.fail)
    assert answered > 3


@pytest.mark.slow
@pytest.mark.usefixtures("odd")
@pytest.mark.parametrize("kind", ["histogram", "density", "cdf", "order", "violins", "qq", "forest"])
def test_no_picture_shows_what_is_no_number(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Titles, axes with their ticks, legends and annotations, and where lines go."""
    text = pytest.importorskip("matplotlib.text")
    drawn: list[str] = []

    def look(picture: Any, path: Path) -> None:
        figure = getattr(picture, "figure", picture)
        for axes in figure.axes:
            assert np.isfinite([axes.get_xlim(), axes.get_ylim()]).all()
            drawn.extend(f"{value:g}" for value in (*axes.get_xticks(), *axes.get_yticks()))
        drawn.extend(found.get_text() for found in figure.findobj(text.Text))

    monkeypatch.setattr("speedproof.plot.save", look)
    answered = 0
    for name in SAMPLES:
        files = [f"{side}.txt" for side in ("plain", name)][-1 if kind != "forest" else 0 :]
        drawn.clear()
        code, out, err = speedproof("plot", *files, "--kind", kind, "-o", "p.svg")
        assert code in (0, 2), (name, err)
        answered += code == 0
        for shown in (*drawn, out, *([err] if code == 0 else [])):
            assert NO_NUMBER.search(shown) is None, (name, shown)
    assert answered > 2


@pytest.mark.usefixtures("odd")
@pytest.mark.parametrize(
    ("given", "why"), [("5e-324", "below 1e-09"), ("1e-308", "below 1e-09"), ("95", "mean 95%?")]
)
def test_a_level_or_precision_that_is_none(given: str, why: str) -> None:
    """What no test supports is refused once, where it is read, on the command line as in a configuration."""
    Path("c.csv").write_text(f"Name,Sample1,Sample2,ConfLevel,Coef\na,plain.txt,zeros.txt,{given},1\n")
    for option in ("--confidence", "--precision"):
        assert why in refused("suite", "c.csv", option, given)
    code, _, err = speedproof("suite", "c.csv")
    assert (code, f"a: ConfLevel '{given}' " in err, why in err) == (2, True, True)
