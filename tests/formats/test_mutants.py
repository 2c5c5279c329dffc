"""Mutants of every fixture: whatever a result file holds, records or an error of our own come out.

No warning comes out either: in this suite they are errors, NumPy's among them. The seed is fixed.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from speedproof.data.remarks import remarks
from speedproof.errors import SpeedproofError
from speedproof.formats.suites import read as read_suite

FILES = Path(__file__).parents[1] / "data" / "formats"
NAMES = sorted(str(p.relative_to(FILES)) for p in FILES.rglob("*") if p.is_file() and p.suffix != ".md")

HOSTILE_VALUES: list[Any] = [
    None, True, False, 0, -1, 0.0, -0.0, 1e308, -1e308, 5e-324, 10**400, -(10**400), 2**63, 2**64, "", "x", "NaN",
    "1e5", "\ud800", "a\x00b", "\x1b[31m", "𝔘" * 50, [], {}, [[]], [None], {"": None}, [1e308, 5e-324],
    ["a", 1, None], {"name": {"name": []}}, float("nan"), float("inf"), float("-inf"),
]  # fmt: skip
HOSTILE_TOKENS: list[bytes] = [
    b"", b"NaN", b"inf", b"-inf", b"1e999", b"1e-999", b"-0", b"9" * 400, b"0" * 400, b"1_0", b"0x1p3", b"\xff",
    b"\x00", b"\x1b[2J", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\t", b"\n", b"\r", b",", b";", b'"', b"'", b"#",
    b"[" * 9999,     b"1e308 1e308", b"-5", b"1,5", "µ".encode(), "٣".encode(), b"Infinity", b"{}", b"null",
]  # fmt: skip


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container of a JSON value with each of its keys."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


def mutated_json(data: bytes, rng: random.Random) -> bytes:
    """A value swapped, taken away, doubled, deeply nested or replaced, at up to three places."""
    value = json.loads(data)
    for _ in range(rng.randint(1, 3)):
        found = list(places(value))
        if not found:
            break
        container, key = rng.choice(found)
        what = rng.randrange(6)
        if what == 0:
            del container[key]
        elif what == 1:
            other, other_key = rng.choice(found)
            container[key] = other[other_key] if not isinstance(other[other_key], dict | list) else "swapped"
        elif what == 2 and isinstance(container, list):
            container *= 2
        elif what == 3:
            container[key] = [[[[container[key]]]]]
        else:
            container[key] = rng.choice(HOSTILE_VALUES)
    text = json.dumps(value)
    if rng.random() < 0.05:
        depth = rng.choice([100, 900, 5000, 100_000])
        text = text.replace(": ", ": " + "[" * depth, 1)
    return text.encode()


def mutated_text(data: bytes, rng: random.Random) -> bytes:
    """A word, a line or a byte changed, or the end cut off."""
    for _ in range(rng.randint(1, 3)):
        what = rng.randrange(5)
        lines = data.split(b"\n")
        at = rng.randrange(len(lines))
        if what == 0:
            del lines[at]
        elif what == 1:
            lines[at] = lines[rng.randrange(len(lines))]
        elif what == 2:
            words = lines[at].replace(b",", b" , ").replace(b"\t", b" \t ").split(b" ")
            words[rng.randrange(len(words))] = rng.choice(HOSTILE_TOKENS)
            lines[at] = b"".join(words) if b"," in lines[at] or b"\t" in lines[at] else b" ".join(words)
        elif what == 3:
            lines = [b"\n".join(lines)[: rng.randrange(len(data) + 1)]]
        else:
            cut = rng.randrange(len(lines[at]) + 1)
            lines[at] = lines[at][:cut] + rng.choice(HOSTILE_TOKENS) + lines[at][cut:]
        data = b"\n".join(lines)
    return data


def is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except ValueError:
        return False
    return True


def survive(path: Path) -> None:
    try:
        suite = read_suite(path)
    except SpeedproofError as error:
        str(error).encode()
        return
    for line in remarks(suite):
        line.encode()
    for key, version in suite.samples:
        (key.benchmark + key.metric + version).encode()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_mutants_of_every_fixture(tmp_path: Path, name: str) -> None:
    data = (FILES / name).read_bytes()
    mutate: Callable[[bytes, random.Random], bytes] = mutated_text
    if is_json(data):
        mutate = mutated_json
    rng = random.Random(name)
    path = tmp_path / Path(name).name
    for _ in range(60):
        path.write_bytes(mutate(data, rng))
        survive(path)
        path.write_bytes(mutated_text(data, rng))
        survive(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in NAMES if n.endswith(".json")])
@pytest.mark.parametrize(
    "value",
    ["\ud800", "\udfff x", 10**400, 5e-324, "\x1b]0;x\x07"],
    ids=["half", "half first", "400 digits", "subnormal", "escape"],
)
def test_every_value_of_a_kind_replaced(tmp_path: Path, name: str, value: Any) -> None:
    """One hostile value in place of every text, or of every number, of a file."""
    for kind in (str, (int, float)):
        content = json.loads((FILES / name).read_bytes())
        for container, key in list(places(content)):
            if isinstance(container[key], kind) and not isinstance(container[key], bool):
                container[key] = value
        path = tmp_path / "result.json"
        path.write_text(json.dumps(content))
        survive(path)
