"""JSON documents: what is written is read back, and what is wrong is named with its place."""

from __future__ import annotations

import json
import re
from contextlib import suppress

import pytest

from speedproof.data.suite import Suite
from speedproof.errors import FormatError
from speedproof.protocols.suite import SuiteComparison
from speedproof.reporting.json import to_json
from speedproof.reporting.stored import Context, read_document, restore, store

Made = tuple[SuiteComparison, Suite]


@pytest.mark.parametrize("which", ["mixed", "hostile"])
def test_comparisons_survive_the_round_trip(which: str, request: pytest.FixtureRequest) -> None:
    """Every field comes back, NaN and infinite bounds included; only infinite statistics turn into NaN."""
    result, suite = request.getfixturevalue(which)
    context = Context("speedproof", {"speedproof": "1"})
    text = to_json("compare", [result], suite=store(suite), context=context)
    document, samples = read_document(text.encode(), "r.json")
    as_read = re.sub(r"statistic=-?inf", "statistic=nan", repr(result))
    assert repr(document.results[0]) == as_read
    assert document.context == context
    assert samples.versions == suite.versions
    assert samples.fields == suite.fields


def test_samples_survive_bit_for_bit(mixed: Made) -> None:
    """Values, units, traits and processes of every sample."""
    _, suite = mixed
    found = restore(store(suite))
    assert list(found.samples) == list(suite.samples)
    for place, sample in suite.samples.items():
        other = found.samples[place]
        assert other.values.tobytes() == sample.values.tobytes()
        assert (other.unit, other.direction, other.traits, other.label) == (
            sample.unit,
            sample.direction,
            sample.traits,
            sample.label,
        )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not JSON"),
        ("[1, 2", "is not JSON"),
        ("\x00\x80", "is not JSON"),
        ("[]", "no results of speedproof"),
        ('{"a": 1}', "no results of speedproof"),
        ('{"speedproof": "1", "schema": 5, "command": "show", "results": []}', "results of 'show'"),
        ('{"speedproof": "1", "schema": 99, "command": "compare", "results": []}', "newer"),
        ('{"speedproof": "1", "schema": 1, "command": "compare", "results": []}', "older"),
        ('{"speedproof": "1", "schema": 5, "command": "compare", "results": [{}]}', "missing required field"),
        ('{"speedproof": "1", "schema": 5, "command": "compare", "results": 3}', "$.results"),
        ('{"speedproof": "1", "schema": 5, "command": "compare", "results": [3]}', "$.results[0]"),
    ],
)
def test_errors_name_the_file_and_the_place(text: str, message: str) -> None:
    """A file of another kind is refused in words."""
    with pytest.raises(FormatError) as error:
        read_document(text.encode("latin-1"), "r.json")
    assert str(error.value).startswith("r.json")
    assert message in str(error.value)


@pytest.mark.slow
def test_every_wrong_field_is_refused(mixed: Made) -> None:
    """Any part of a document replaced by a value of another kind: read, or refused with a FormatError."""
    result, suite = mixed
    one = to_json("compare", [result], suite=store(suite))
    document = json.loads(one)
    small = document["results"][0]
    small["comparisons"] = small["comparisons"][:1]
    document["suite"]["samples"] = document["suite"]["samples"][:1]
    places: list[tuple[object, object]] = []

    def walk(value: object) -> None:
        items = (
            value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        )
        for key, item in items:
            places.append((value, key))
            walk(item)

    walk(document)
    for holder, key in places[:: max(1, len(places) // 40)]:
        before = holder[key]  # type: ignore[index]
        wrongs: tuple[object, ...] = ({"x": 1}, [[]], "text", -1.5, None)
        for wrong in wrongs:
            holder[key] = wrong  # type: ignore[index]
            with suppress(FormatError):
                read_document(json.dumps(document).encode(), "r.json")
        holder[key] = before  # type: ignore[index]
