"""The whole of many comparisons, from the files that hold them: what DuckDB selects, and sums from the footers.

Nothing here grows with the number of comparisons but the columns that DuckDB streams through and the claims that
are significant alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from speedproof.conclude.multiplicity import ADJUSTMENTS, CLAIMS, Controlled, kept_claims, promise_of
from speedproof.conclude.suite import SuiteComparison, compare_suite, hpt_of
from speedproof.corpus.answers import Answers
from speedproof.corpus.compare import PVALUES, SPEEDS, Asked, Held, Seen, answer_columns, merged, pairs_of
from speedproof.corpus.read import fetched, parts_of, quoted, rows_of
from speedproof.corpus.schema import digest, opened, records
from speedproof.data.notes import UNDERMINING, Assumption, Note
from speedproof.data.suite import Suite
from speedproof.options import DETAILS
from speedproof.protocols.aggregates import (
    LOCATIONS,
    Accelerated,
    Gain2009,
    GeometricMeans,
    accelerated_by,
    banded,
    overall_gain,
)
from speedproof.protocols.caveats import MachineSpeeds, at_two_speeds, common_speeds
from speedproof.protocols.pair import PreparedPairs, Rules
from speedproof.protocols.questions import QUESTIONS, headline_of
from speedproof.protocols.questions import answers as ask
from speedproof.protocols.results import CHANGED, Comparison, Hpt, Verdict

if TYPE_CHECKING:
    import duckdb

MOST_FOR_HPT = 100_000
"""Benchmarks whose runs memory is to hold together: 1 GB of ten runs a side."""
_KINDS = {kind.value: kind for kind in Assumption}
_SHOWN = 50  # changes of either direction that are kept, or more where the other has fewer


class Whole(SuiteComparison, frozen=True, kw_only=True):
    """One pair of versions in a corpus: its largest changes, names of what one lacks, and the numbers of all."""

    accelerated: tuple[tuple[str, Accelerated], ...] = ()
    geometric_means: GeometricMeans | None = None
    controlled: tuple[Controlled, ...] = ()
    gain_2009: tuple[tuple[str, Gain2009], ...] = ()


class Conclusion(Struct, frozen=True):
    """What all comparisons of a corpus say together, beside what they say of each pair of versions."""

    results: tuple[SuiteComparison, ...]  # the first twenty pairs, and those with the largest changes
    # Of each of the results how many benchmarks only the reference has, only the candidate, cannot be compared
    lacking: tuple[tuple[int, int, int], ...]
    in_some: tuple[int, tuple[str, ...]]  # how many benchmarks some version lacks, and the first of them
    # Where they are; the answers are a row a comparison and protocol
    corpus: str
    answers: str
    metric: str  # what was compared
    # The risk of each side of each comparison; of equivalence
    alpha: float
    margin: float | None
    headline: str  # the protocol whose verdicts are counted first
    # How many comparisons, of how many benchmarks, between how many pairs of versions
    comparisons: int
    benchmarks: int
    pairs: int
    apart: int  # how many more pairs were asked for that have no benchmark in common
    versions: tuple[str, ...]  # all of the corpus, in order of first appearance
    counts: dict[str, dict[Verdict, int]]  # by protocol
    proven: dict[str, dict[Verdict, int]]  # the same as far as verdicts are proven; undecided otherwise
    # After control of multiplicity over all comparisons, by Holm and by Benjamini and Hochberg
    controlled: tuple[Controlled, ...]
    accelerated: tuple[tuple[str, Accelerated], ...]  # the proportion of accelerated benchmarks, by protocol
    single_runs: bool  # whether no version was run more than once
    bands: dict[Verdict, tuple[int, ...]]  # proven by over 5 %, by 2 to 5 %, by less
    # The largest proven changes, at most a hundred, slower ones first, or of single runs the largest ratios:
    # benchmark, reference and candidate
    largest: tuple[tuple[str, str, str], ...]
    undermined: int  # comparisons with a verdict whose true risk may be larger
    undermining: tuple[tuple[Assumption, int], ...]  # why
    # How many comparisons were held against how much sessions of the same code differ: by so much at least
    # and at most, as a share
    sessions: tuple[int, float, float] | None
    machines: int  # of how many pairs of versions most benchmarks share two speeds: nothing of them is proven
    # Parts of the corpus, and why some have no answer
    parts: int
    failures: tuple[str, ...]

    @property
    def shown(self) -> dict[tuple[str, str, str], list[Comparison]]:
        """All answers about the largest changes, that to the headline's question first."""
        shown: dict[tuple[str, str, str], list[Comparison]] = {key: [] for key in self.largest}
        for result in self.results:
            for c in result.comparisons:
                shown[c.benchmark, result.reference, result.candidate].append(c)
        return shown


def conclude(answers: Answers, asked: Asked) -> Conclusion:
    """Put the answers together."""
    alpha, margin = asked.rules.alpha, asked.rules.margin
    headline = headline_of(asked.protocols)
    with answers.table(answer_columns()) as connection:
        rows = partial(fetched, connection)
        machines = {(one, other): machine for one, other, machine in _machines(rows, headline, alpha)}
        shaken = ", ".join(f"({quoted(one)}, {quoted(other)})" for one, other in machines) or "(NULL, NULL)"
        connection.execute(_JUDGED.format(shaken=shaken))
        counts, proven = (
            {str(protocol): dict.fromkeys(Verdict, 0) for protocol in asked.protocols} for _ in range(2)
        )
        for protocol, verdict, sound, count in rows(
            "SELECT protocol, verdict, proven, count(*) FROM judged GROUP BY ALL"
        ):
            counts[protocol][Verdict(verdict)] += count
            proven[protocol][Verdict(verdict) if sound else Verdict.UNDECIDED] += count
        total = sum(counts[headline].values())
        chosen = "FROM judged WHERE protocol = ?"
        once = "coalesce(bool_and(reference_observations = 1 AND candidate_observations = 1), false)"
        reach = "count(floor_reach), min(floor_reach), max(floor_reach)"
        ((pairs, single, *sessions),) = rows(
            f"SELECT count(DISTINCT (reference, candidate)), {once}, {reach} {chosen}", headline
        )
        benchmarks = total
        if pairs > 1:
            ((benchmarks,),) = rows(f"SELECT count(DISTINCT benchmark) {chosen}", headline)
        tested = [p for p in asked.protocols if QUESTIONS[p].quantity == "speedup" and total]
        faster, slower = (counts[headline][v] for v in CHANGED)
        most = {Verdict.UNDECIDED: 2 * _SHOWN} if single else {
            Verdict.SLOWER: max(_SHOWN, 2 * _SHOWN - faster),
            Verdict.FASTER: max(_SHOWN, 2 * _SHOWN - slower),
        }  # fmt: skip
        keys = [
            (key, (one, other))
            for verdict, limit in most.items()
            for key, one, other in rows(
                f"SELECT benchmark, reference, candidate {chosen} AND verdict = ? "
                f"ORDER BY {_SIZE} DESC, benchmark, reference, candidate LIMIT ?",
                *(headline, verdict.value, limit),
            )
        ]
        bands = {}
        for verdict in CHANGED[::-1] if keys and headline in tested and not single else ():
            of = connection.execute(f"SELECT bound {chosen} AND verdict = ?", [headline, verdict.value])
            bands[verdict] = banded(of.fetchnumpy()["bound"])
        failed = rows(
            "SELECT kind, count(*) FROM "
            f"(SELECT unnest(list_distinct(failed)) AS kind {chosen} AND verdict <> ?) GROUP BY kind",
            *(headline, Verdict.UNDECIDED.value),
        )
        undermining = [(_KINDS[name], count) for name, count in failed if _KINDS[name] in UNDERMINING]
        of_protocol = _compared(answers.corpus, keys, asked, machines)
        marked = {p: of[Verdict.UNDECIDED] - counts[p][Verdict.UNDECIDED] for p, of in proven.items()}
        jointly = (_jointly(connection, p, asked.rules, total, marked[p]) for p in tested if total > 1)
        over_all: dict[str, Any] = {
            "controlled": tuple(chain.from_iterable(jointly)),
            "accelerated": accelerated_by([(p, proven[p][Verdict.FASTER]) for p in tested], total, alpha),
        }
    hpt = _hpt(answers, asked) if pairs == 1 and total <= MOST_FOR_HPT else None
    of_one = {**over_all, "hpt": hpt} if pairs == 1 else {}
    shown = [of_protocol[headline, *key] for key in keys]
    shown += [c for (protocol, *_), c in of_protocol.items() if protocol != headline]
    seen, held = merged(answers.notes(), {(c.reference.label, c.candidate.label) for c in shown})
    versions = tuple(opened(answers.corpus)[1].versions)
    # Neighbours depend on the benchmark.
    every_two = math.comb(len(versions), 2) if asked.pairs == "all" else len(asked.pairs)
    wanted = 0 if asked.pairs == "consecutive" else every_two
    made = list(_results(seen, held, asked, shown, machines, of_one))
    return Conclusion(
        tuple(result for result, _ in made),
        tuple(lacking for _, lacking in made),
        held.lacking(),
        **answers.about,
        **over_all,
        metric=asked.metric,
        alpha=alpha,
        margin=margin,
        headline=headline,
        comparisons=total,
        benchmarks=benchmarks,
        pairs=pairs,
        apart=max(wanted - pairs, 0),
        versions=versions,
        counts=counts,
        proven=proven,
        single_runs=single,
        bands=bands,
        largest=tuple((name, *pair) for name, pair in keys),
        undermined=marked[headline],
        undermining=tuple(sorted(undermining, key=lambda item: (-item[1], item[0].value))),
        sessions=tuple(sessions) if sessions[0] else None,
        machines=len(machines),
    )


_Query = Callable[..., list[tuple[Any, ...]]]
_JUDGED = f"""
CREATE TEMP VIEW judged AS SELECT answers.* REPLACE (
    CASE WHEN shaken THEN list_append(failed, '{Assumption.ONE_SPEED.value}') ELSE failed END AS failed,
    proven AND NOT shaken AS proven)
FROM (SELECT *, coalesce((reference, candidate) IN ({{shaken}}), false) AS shaken FROM answers) AS answers
"""
"""The answers with the check that a machine of two speeds fails."""
_SIZE = "coalesce(bound, CASE WHEN speedup > 0 AND isfinite(speedup) THEN abs(ln(speedup)) ELSE 0 END)"
"""What is proven of a change; of what is undecided how far its ratio is from 1."""


def _machines(rows: _Query, headline: str, alpha: float) -> Iterator[tuple[str, str, MachineSpeeds]]:
    """Of each pair of versions the two speeds that most of its benchmarks share."""
    speeds = ", ".join(f"coalesce({name}, 'nan')" for name in SPEEDS)
    there = f"coalesce({', '.join(SPEEDS)}) IS NOT NULL"
    for *versions, of, known in rows(
        "SELECT reference, candidate, count(*) FILTER (protocol = ?) AS number, "
        f"list([{speeds}]) FILTER ({there}) FROM answers "
        f"GROUP BY ALL HAVING 2 * count(*) FILTER ({there}) > number ORDER BY ALL",
        headline,
    ):
        if (machine := common_speeds(np.array(known), of, alpha)) is not None:
            yield (*versions, machine)


def _jointly(
    connection: duckdb.DuckDBPyConnection, protocol: str, rules: Rules, total: int, marked: int
) -> Iterator[Controlled]:
    """What is left of the claims that are proven alone; no other can be after a correction."""
    alpha, margin = rules.alpha, rules.margin
    claims = CLAIMS if margin is not None else CHANGED
    columns = PVALUES[: len(claims)]
    known = " + ".join(f"count(*) FILTER (NOT isnan({p}))" for p in columns)
    ((family,),) = fetched(connection, f"SELECT {known} FROM answers WHERE protocol = ?", protocol)
    place = "CASE WHEN proven THEN coalesce(list_position($3, verdict), 0) - 1 ELSE -1 END AS place"
    chosen = connection.execute(
        f"SELECT {place}, {', '.join(columns)} FROM judged "
        f"WHERE protocol = $1 AND least({', '.join(columns)}) <= $2",
        [protocol, alpha, [claim.value for claim in claims]],
    )
    places, *pvalues = chosen.fetchnumpy().values()
    for method in ADJUSTMENTS:
        _, kept = kept_claims(np.array(pvalues), places, alpha, method, family)
        counts = dict.fromkeys(Verdict, 0)
        counts |= dict(zip(claims, np.bincount(places[kept], minlength=len(claims)).tolist(), strict=True))
        counts[Verdict.UNDECIDED] = total - sum(counts.values())
        yield Controlled(protocol, method, alpha, margin, family, counts, promise_of(method, alpha, marked))


def _compared(
    corpus: str,
    keys: Sequence[tuple[str, tuple[str, str]]],
    asked: Asked,
    machines: Mapping[tuple[str, str], MachineSpeeds],
) -> dict[tuple[str, str, tuple[str, str]], Comparison]:
    """The comparisons of these benchmarks, by protocol: of their samples again, in the order of the names."""
    chosen: dict[tuple[str, str], list[str]] = {}
    for name, pair in keys:
        chosen.setdefault(pair, []).append(name)
    compared = {}
    for pair, suite in samples_of(corpus, chosen, asked.where, asked.metric) if chosen else ():
        prepared = PreparedPairs(suite.pair(*pair).pairs, asked.rules)
        for protocol in asked.protocols:
            for c in at_two_speeds(ask(protocol, prepared), machines.get(pair)):
                compared[str(protocol), c.benchmark, pair] = c
    return dict(sorted(compared.items(), key=lambda item: (*item[0][1:], item[0][0])))


def _hpt(answers: Answers, asked: Asked) -> Hpt | None:
    """The same test as of files, of all samples again, without its benchmarks.

    None where it was not asked for, or some have no score.
    """
    if answers.failures or not set(DETAILS) <= set(asked.protocols):
        return None
    place, manifest = opened(answers.corpus)
    read = (
        pairs_of(place.lasting, files, asked, tuple(manifest.versions))[1].values()
        for files in parts_of(manifest.files)
    )
    hpt = hpt_of((one.pairs for paired in read for one in paired), asked.rules.alpha)
    return hpt and replace(hpt, benchmarks=())


def _results(
    pairs: Mapping[tuple[str, str], Seen],
    held: Held,
    asked: Asked,
    shown: Iterable[Comparison],
    machines: Mapping[tuple[str, str], MachineSpeeds],
    numbers: Mapping[str, Any],
) -> Iterator[tuple[Whole, tuple[int, int, int]]]:
    """By pair of versions what is said of all its parts."""
    by_pair: dict[tuple[str, str], dict[str, list[Comparison]]] = {}
    for c in shown:
        of_pair = by_pair.setdefault((c.reference.label, c.candidate.label), {})
        of_pair.setdefault(c.benchmark, []).append(c)
    alpha, margin, nested = asked.rules.alpha, asked.rules.margin, asked.rules.nested
    for versions, seen in sorted(pairs.items(), key=lambda item: not item[1].pairs):
        gains = (
            (location, overall_gain([before], [after], [1.0]))
            for location, (before, after) in zip(LOCATIONS, seen.totals, strict=True)
        )
        (old, only_old), (new, only_new) = held.lacking(*versions), held.lacking(*versions[::-1])
        whole = Whole(
            *(*versions, asked.metric, alpha, margin, nested),
            tuple(chain.from_iterable(by_pair.get(versions, {}).values())),
            *(only_old, only_new, tuple(seen.problems)),
            overall=tuple(gains) if seen.pairs and not seen.rates else (),
            geometric_means=seen.ratios.means(alpha),
            caveats=tuple(_caveats(seen)),
            machine=machines.get(versions),
            **numbers,
        )
        yield whole, (old, new, seen.incomparable)


def _caveats(seen: Seen) -> Iterable[Note]:
    """One of a kind and its versions, with as many benchmarks as all parts have, and the number in the middle."""
    remarks: dict[tuple[str, tuple[str, ...]], list[tuple[float, str, int]]] = {}
    for kind, versions, count, message, number in seen.caveats:
        seen_as = math.nan if number is None else number
        remarks.setdefault((kind, tuple(versions)), []).append((seen_as, message, count))
    for (kind, versions), alike in remarks.items():
        alike.sort(key=lambda one: 0.0 if math.isnan(one[0]) else one[0])
        counts = list(accumulate(count for _, _, count in alike))
        number, message, _ = alike[next(i for i, passed in enumerate(counts) if 2 * passed >= counts[-1])]
        where = () if counts[-1] == seen.pairs else ("",) * counts[-1]
        yield Note(Assumption[kind], message, versions, where, number)


def samples_of(
    corpus: str,
    chosen: Mapping[tuple[str, str], Collection[str]],
    where: str | None,
    metric: str | None = None,
) -> Iterator[tuple[tuple[str, str], Suite]]:
    """Of each pair of versions the benchmarks that are chosen, in one metric or in all."""
    place, manifest = opened(corpus)
    benchmarks = set[str]().union(*chosen.values())
    hashes = [digest(name) for name in benchmarks]
    files = [f.path for f in manifest.files if any(path.startswith(f.prefix) for path in hashes)]
    metrics = None if metric is None else [metric]
    rows = rows_of(place.lasting, files, where, metric=metrics, benchmark=benchmarks)
    read = [record for _, record in records(rows.sort_by("row"))]
    for pair, names in chosen.items():
        records_of = ((r.version or "", r) for r in read if r.version in pair and r.benchmark in names)
        yield pair, Suite.from_records(records_of)


def in_memory(
    corpus: str, chosen: Mapping[tuple[str, str], Collection[str]], asked: Asked
) -> Iterator[tuple[SuiteComparison, Suite]]:
    """The same, compared, with the samples that a page draws."""
    for pair, suite in samples_of(corpus, chosen, asked.where, asked.metric):
        yield compare_suite(suite.pair(*pair), pair, asked.metric, asked.rules, asked.protocols), suite
