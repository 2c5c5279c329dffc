"""The Gaussian mixture behind every sample of a corpus, tested by bootstrap: a row a sample."""

from __future__ import annotations

import os
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from speedproof.corpus.answers import Answers, How, Task, answered
from speedproof.corpus.place import arrow, of_rows
from speedproof.corpus.read import fetched, rows_of, within
from speedproof.corpus.schema import suite_of
from speedproof.errors import DataError, UsageError
from speedproof.mixture.analysis import analyse
from speedproof.mixture.results import ALPHA

if TYPE_CHECKING:
    import pyarrow as pa

WORTH = 64  # samples that are worth a task
_SHOWN = 10
_rows_of = lru_cache(1)(rows_of)  # a worker's next task is often another share of the same part


class ModelAsked(Struct, frozen=True):
    """What mixtures are asked for; as :func:`speedproof.model` takes it."""

    metric: str
    where: str | None
    max_components: int
    bootstrap: int
    fast: bool
    seed: int


class CorpusModels(Struct, frozen=True):
    """Mixtures of all samples together."""

    # Where they are; the answers are a row a sample
    corpus: str
    answers: str
    # How many have a mixture, and how many cannot have one
    samples: int
    failed: int
    # Samples by number of components and of modes
    components: dict[int, int]
    modes: dict[int, int]
    # How many fits were tested, and how many of these were rejected at 5 %
    tested: int
    rejected: int
    # Benchmark, version, modes and the ratio of the last mode's place to the first's, where it is largest
    several: tuple[tuple[str, str, int, float], ...]
    # Tasks, and why some have no answer
    parts: int
    failures: tuple[str, ...]


def model(corpus: str | os.PathLike[str], asked: ModelAsked, how: How) -> CorpusModels:
    """Fit and test every sample; what an earlier call has done is not done again."""
    answers = answered(corpus, "model", asked, model_part, how, WORTH)
    models = _summed_up(answers)
    if not (models.samples or models.failed or models.failures):
        answers.forget()
        where = f" where {asked.where}" if asked.where else ""
        raise UsageError(f"{answers.corpus}: no samples of {asked.metric}{where}")
    return models


def model_part(task: Task) -> int:
    """Fit the samples of one task."""
    asked: ModelAsked = task.asked
    rows = _own(_rows_of(task.corpus, task.files, asked.where, metric=(asked.metric,)), task.share)
    suite = suite_of(rows)
    modelled: list[dict[str, Any]] = []
    for (key, version), sample in suite.samples.items():
        row: dict[str, Any] = {
            "benchmark": key.benchmark, "metric": key.metric, "version": version, "unit": sample.unit,
        }  # fmt: skip
        try:
            fitted = analyse(
                sample, N=asked.bootstrap, seed=asked.seed, K_max=asked.max_components, fast=asked.fast
            )
        except DataError as error:
            modelled.append(row | {"note": str(error)})
            continue
        row |= {"n": fitted.n, "kind": fitted.kind, "components": len(fitted.components), "bic": fitted.bic}
        for parts, names in (
            (fitted.components, ("weight", "mean", "sd")),
            (fitted.modes, ("place", "share")),
        ):
            row |= {f"{name}s": [getattr(part, name) for part in parts] for name in names}
        if fitted.test is not None:
            row |= {"distance": fitted.test.distance, "pvalue": fitted.test.pvalue}
        modelled.append(row | {"note": fitted.note})
    task.keep(of_rows(modelled, _columns()))
    return len(modelled)


def _own(rows: pa.Table, share: tuple[int, int]) -> pa.Table:
    """The rows of every so many-th benchmark, which are this task's share."""
    number, of = share
    return within(rows, "benchmark", rows["benchmark"].unique().to_pylist()[number::of])


def _columns() -> pa.Schema:
    pa = arrow()
    text, number, numbers, whole = pa.string(), pa.float64(), pa.list_(pa.float64()), pa.int64()
    return pa.schema(
        [
            *((name, text) for name in ("benchmark", "metric", "version", "unit")), ("n", whole), ("kind", text),
            ("components", whole), ("bic", number),
            *((name, numbers) for name in ("weights", "means", "sds", "places", "shares")), ("distance", number),
            ("pvalue", number), ("note", text),
        ]
    )  # fmt: skip


def _summed_up(answers: Answers) -> CorpusModels:
    """Count what the mixtures of all samples say."""
    with answers.table(_columns()) as connection:
        rows = partial(fetched, connection)
        ((samples, failed, tested, rejected),) = rows(
            "SELECT count(components), count(*) FILTER (WHERE components IS NULL), count(pvalue), "
            "count(*) FILTER (WHERE pvalue <= ?) FROM answers",
            ALPHA,
        )
        by = {
            name: dict(
                rows(f"SELECT {sql} AS k, count(*) FROM answers WHERE k IS NOT NULL GROUP BY k ORDER BY k")
            )
            for name, sql in (("components", "components"), ("modes", "len(places)"))
        }
        return CorpusModels(
            **answers.about,
            samples=samples,
            failed=failed,
            components=by["components"],
            modes=by["modes"],
            tested=tested,
            rejected=rejected,
            several=tuple(
                rows(
                    "SELECT benchmark, version, len(places), places[-1] / places[1] AS apart FROM answers "
                    "WHERE len(places) > 1 AND places[1] > 0 ORDER BY apart DESC, benchmark, version LIMIT ?",
                    _SHOWN,
                )
            ),
        )
