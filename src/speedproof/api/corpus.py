"""A corpus of samples: build it, look into it, analyse it on all cores or on a cluster."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from speedproof.api.given import (
    alpha_of,
    as_measured,
    components_given,
    each_has,
    floor_of,
    no_step,
    nothing_common,
    options_of,
    quantile_measured,
    rules_of,
)
from speedproof.conclude.suite import SuiteComparison
from speedproof.corpus.answers import How
from speedproof.corpus.build import Builder, build
from speedproof.corpus.compare import Asked, compare
from speedproof.corpus.compare import pairs_in_file as pairs_in_file
from speedproof.corpus.engine import cores, get_ready
from speedproof.corpus.place import Place
from speedproof.corpus.read import query as query
from speedproof.corpus.read import rejected
from speedproof.corpus.schema import Manifest, finished, opened
from speedproof.data.checked import checked
from speedproof.data.names import enumerate_names, plural, version_given
from speedproof.data.record import FileResults, Record, why_left_out
from speedproof.data.suite import Key, Suite
from speedproof.declaring import exclusive
from speedproof.errors import Parameter, UsageError
from speedproof.formats.source import ReadOptions
from speedproof.formats.suites import all_there, names_given, read_files, turned
from speedproof.formats.versions import named, onto_versions, stem_of
from speedproof.options import ASKED, Judging, QuestionName, SessionAsked, main_metric
from speedproof.protocols.pair import Rules
from speedproof.reporting.corpus import compared, fits_one_sheet
from speedproof.reporting.model import MANY, Report, Reported, comparisons_to_json
from speedproof.reporting.shown import Shown

if TYPE_CHECKING:
    import pyarrow as pa

    from speedproof.api.whys import WhyResult
    from speedproof.corpus.changes import CorpusChanges
    from speedproof.corpus.conclude import Conclusion
    from speedproof.corpus.model import CorpusModels
    from speedproof.corpus.read import CorpusInfo


class Corpus:
    r"""Any number of samples in Parquet files.

    Parameters
    ----------
    place : str or path
        A folder, or a URL of an object store such as ``s3://bucket/corpus``.

    Raises
    ------
    SpeedproofError
        No corpus there, or one that a newer speedproof wrote.

    Examples
    --------
    >>> import tempfile
    >>> import speedproof as sp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     corpus = sp.Corpus.build(["examples/gcc/O2.json", "examples/gcc/O3.json"], folder)
    ...     corpus.query("SELECT version, count(*) AS samples FROM corpus GROUP BY ALL ORDER BY ALL").to_pylist()
    [{'version': 'O2', 'samples': 6}, {'version': 'O3', 'samples': 6}]
    """

    @checked()
    def __init__(self, place: str | os.PathLike[str]) -> None:
        self.place = os.fspath(place)
        opened(place)

    @classmethod
    @checked()
    def build(
        cls,
        files: Iterable[str | os.PathLike[str]],
        place: str | os.PathLike[str],
        *,
        append: bool = False,
        by: Sequence[str] = (),
        format: str | None = None,
        unit: str | None = None,
        columns: Mapping[str, str] | None = None,
        wide: Literal["version", "benchmark"] | None = None,
        higher_is_better: str | Sequence[str] = (),
        done: Callable[[], None] = no_step,
        unchanged: Callable[[], None] = no_step,
    ) -> Corpus:
        """Make a corpus of result files, or go on with one that was cut short.

        Parameters
        ----------
        files : iterable of str or path
            Files, folders, archives, patterns with ``*``. The version of what names none is NAME of ``NAME=PATH``,
            else its file, or the folder where several arguments are given.
        place : str or path
            A folder that does not exist yet or is empty, or a URL.
        append : bool
            Add to a complete corpus. Files that are in it already and have not changed are left out.
        by : sequence of str
            Tell versions apart by these fields of the files.
        format, unit, columns, wide, higher_is_better
            As :func:`speedproof.read` takes them.
        done : callable
            Called after each file.
        unchanged : callable
            Called for each file that is left out.

        Returns
        -------
        Corpus
            Memory stays below some 500 MB, however much is read. What cannot be read is in the table ``rejects``.

        Raises
        ------
        SpeedproofError
            A complete corpus, other files in the folder, a full disk; nothing could be read.
        """
        how = ReadOptions(unit=unit, columns=columns or {}, wide=wide)

        def found(builder: Builder) -> Iterator[tuple[str, FileResults]]:
            def known(path: str) -> bool:
                if there := builder.has(path):
                    unchanged()
                return there

            for version, results in labelled(files, format, how, tuple(by), known):
                yield version, replace(results, records=tuple(turned(r, more) for r in results.records))
                if not results.more:
                    done()

        more = names_given(higher_is_better)
        build(Place.of(place), found, append=append)
        corpus = cls(place)
        if more:
            all_there(more, corpus.query("SELECT DISTINCT metric FROM corpus")["metric"].to_pylist())
        return corpus

    def info(self) -> CorpusInfo:
        """Counts of samples, benchmarks, versions and files."""
        from speedproof.corpus.read import info

        return info(self.place)

    def question(self, where: str | None = None, versions: Collection[str] = ()) -> SessionAsked:
        """What the sessions of ``run`` in it were to decide, as ``question`` of a :class:`Suite` has it."""
        from speedproof.corpus.read import question

        place, manifest = opened(self.place)
        named = [version_given(name, tuple(manifest.versions), place.name) for name in versions]
        return question(self.place, where, named)

    @checked()
    def query(self, sql: str) -> pa.Table:
        """Run SQL over the tables ``corpus`` and ``rejects`` and return an Arrow table."""
        return query(self.place, sql)

    @checked("protocols")
    def compare(
        self,
        reference: str | None = None,
        candidate: str | None = None,
        *,
        pairs: Literal["all", "consecutive"] | Sequence[tuple[str, str]] | None = None,
        metric: str | None = None,
        confidence: float | str | None = None,
        margin: float | str | None = None,
        protocols: QuestionName | str | Sequence[str] | None = None,
        rules: Rules | None = None,
        where: str | None = None,
        store: str | os.PathLike[str] | None = None,
        out: str | os.PathLike[str] | None = None,
        workers: int | None = None,
        dask: str | None = None,
        started: Callable[[int, int], None] = lambda parts, done: None,
        done: Callable[[], None] = no_step,
    ) -> CorpusComparison:
        """Compare versions on every benchmark, on all cores or on a cluster.

        Parameters
        ----------
        reference, candidate : str, optional
            Versions, or the short names that reports call them by: the reference is compared with every other one
            if no candidate is named. Of a corpus of two these by default.
        pairs : {"all", "consecutive"} or sequence of (str, str), optional
            Many pairs instead: every two versions of a benchmark, each with the next in order of first appearance,
            or these.
        metric : str, optional
            Time by default, or what the corpus has most of; of sessions of ``run`` what decided them.
        confidence, margin, protocols, rules
            As :func:`speedproof.compare_suite` takes them; the protocols are ``("typical", "mean")`` by default.
        where : str, optional
            An SQL condition on the rows.
        store : str or path, optional
            A :class:`History`'s: how much its sessions of one commit differ is counted in.
        out : str or path, optional
            Where the answers go, a Parquet file a part; by default ``answers/`` in the corpus, under a name of the
            question's own. What is there already is not computed again.
        workers : int, optional
            Processes; all cores by default. The answer is the same for any number.
        dask : str, optional
            Address of a Dask scheduler, whose workers see the same files, in place of processes.
        started, done : callable
            Called with the number of parts and how many are done already; after each part.

        Returns
        -------
        CorpusComparison
            ``print`` shows what ``speedproof corpus compare`` shows.

        Raises
        ------
        SpeedproofError
            An unknown version or metric, a folder of other answers, a cluster that cannot be used or is lost.
        """
        named = {"pairs": pairs, "reference": reference, "candidate": candidate}
        given = {name: f"{name}=" for name, value in named.items() if value is not None}
        exclusive({"pairs": ("reference", "candidate")}, given)
        how = _ready("compare", How(out, workers or cores(), dask, started, done))
        from speedproof.api.suites import protocols_given
        from speedproof.corpus.conclude import conclude

        place, manifest = finished(self.place)
        at = place.name
        versions = tuple(manifest.versions)
        if len(versions) < 2:
            raise UsageError(
                f"{at}: there is only one version ({versions[0]}); name the file of another one (corpus build "
                f"--append), or read its benchmarks as versions of one thing: speedproof compare {shlex.quote(at)}"
            )
        if pairs is None:
            if reference is None and len(versions) != 2:
                which = Parameter("reference"), " (against every other) or ", Parameter("pairs")
                there = enumerate_names(versions, 4)
                raise UsageError(f"{at}: choose versions with ", *which, f"; available: {there}")
            reference, candidate = (v and version_given(v, versions, at) for v in (reference, candidate))
            first = reference or next(v for v in versions if v != candidate)
            others = (candidate,) if candidate else [v for v in versions if v != first]
            pairs = tuple((first, other) for other in others)
        elif not isinstance(pairs, str):
            pairs = tuple((version_given(x, versions, at), version_given(y, versions, at)) for x, y in pairs)
        question = self.question(where, () if isinstance(pairs, str) else {v for of in pairs for v in of})
        judging = options_of(Judging, confidence=confidence, margin=margin)
        protocols = protocols_given(protocols or quantile_measured(question) or ASKED)
        rules = rules or rules_of(as_measured(judging, question), protocols)
        if store is not None:
            rules = replace(rules, floor=floor_of(store))
        chosen = _metric(manifest, metric, question)
        asked = Asked(pairs, chosen, rules, protocols, where)
        answers = compare(self.place, asked, how)
        conclusion = conclude(answers, asked)
        if not conclusion.comparisons and not conclusion.failures:
            answers.forget()
            lines = list[str]()
            for whole in conclusion.results:
                held = {whole.reference: whole.only_reference, whole.candidate: whole.only_candidate}
                lines += [*whole.problems, *each_has(held, chosen)]
            remedy = f"'speedproof compare {shlex.quote(at)}' with ", Parameter("match", "position")
            raise nothing_common(lines, *remedy, " compares them by their places")
        return CorpusComparison(conclusion, self.place, asked)

    @checked()
    def model(
        self,
        *,
        metric: str | None = None,
        where: str | None = None,
        max_components: int = 9,
        bootstrap: int = 200,
        fast: bool = False,
        seed: int = 0,
        out: str | os.PathLike[str] | None = None,
        workers: int | None = None,
        dask: str | None = None,
        started: Callable[[int, int], None] = lambda parts, done: None,
        done: Callable[[], None] = no_step,
    ) -> CorpusModelled:
        """Fit a Gaussian mixture to every sample and test it, as :func:`speedproof.model` does.

        The other parameters are those of :meth:`compare`; the answers are a row a sample.
        """
        components_given(max_components=max_components)
        how = _ready("model", How(out, workers or cores(), dask, started, done))
        from speedproof.corpus.model import ModelAsked, model

        manifest = opened(self.place)[1]
        asked = ModelAsked(_metric(manifest, metric), where, max_components, bootstrap, fast, seed)
        return CorpusModelled(model(self.place, asked, how), tuple(manifest.versions))

    @checked()
    def changes(
        self,
        *,
        metric: str | None = None,
        where: str | None = None,
        confidence: float | str = 0.95,
        correction: Literal["holm", "bh"] = "holm",
        repository: str | None = None,
        out: str | os.PathLike[str] | None = None,
        workers: int | None = None,
        dask: str | None = None,
        started: Callable[[int, int], None] = lambda parts, done: None,
        done: Callable[[], None] = no_step,
    ) -> CorpusChanged:
        """Find the changes along the versions of every benchmark on every machine, as a history does.

        Versions are ordered by git where ``repository`` names a folder whose commits they are, else by when they
        were measured, else as they appeared. ``confidence`` is that a corpus without a change shows none;
        ``correction="bh"`` allows a share of false ones. The other parameters are those of :meth:`compare`.
        """
        how = _ready("changes", How(out, workers or cores(), dask, started, done))
        from speedproof.corpus.changes import ChangesAsked, changes

        manifest = opened(self.place)[1]
        asked = ChangesAsked(_metric(manifest, metric), where)
        result = changes(self.place, asked, how, alpha_of(confidence), correction, repository)
        return CorpusChanged(result, tuple(manifest.versions))

    def __repr__(self) -> str:
        return f"<Corpus: {self.place}>"


def _ready(module: str, how: How) -> How:
    """Start the worker processes early: what is imported next takes as long as they do."""
    if how.workers > 1 and how.dask is None:
        get_ready(f"speedproof.corpus.{module}")
    return how


def _metric(manifest: Manifest, name: str | None, question: SessionAsked | None = None) -> str:
    """The metric asked for, or else the one that decided sessions, or time, or the most frequent one."""
    metrics = manifest.metrics
    if name is not None and name not in metrics:
        raise UsageError(f"there is no metric {name}; available: {', '.join(metrics)}")
    most_first = sorted(metrics, key=metrics.__getitem__, reverse=True)
    return name or main_metric(most_first, question.decide_by if question else None)


def labelled(
    files: Iterable[str | os.PathLike[str]],
    format: str | None,
    options: ReadOptions,
    by: tuple[str, ...],
    known: Callable[[str], bool],
) -> Iterator[tuple[str, FileResults]]:
    """Yield the records of each file, with a version name for those that have none."""
    waiting = iter(files)
    first = list(islice(waiting, 2))
    if not first:
        raise UsageError("name result files, folders or archives; the list names none")
    several = len(first) > 1
    for argument in chain(first, waiting):
        given = named(argument)
        if given.version:
            raise UsageError(
                f"{argument}: a corpus takes files whole; give the file without :{given.version}"
            )
        for path in given.paths:
            # Which field tells the versions of a file apart depends on all of it.
            for results in read_files([path], format=format, options=options, skip=known, whole=bool(by)):
                label = given.name or _label(path, results.path, several)
                yield label, _versioned(results, given.name, label, by)


def _label(argument: str, path: str, several: bool) -> str:
    """The version name of a file: the folder if there are several arguments, else the file itself."""
    if several and Path(argument).is_dir():
        return stem_of(argument)
    stem = stem_of(path)
    inside = PurePath(path).parent.parts[len(PurePath(argument).parts) :]
    return "/".join((*inside, stem))


def _versioned(results: FileResults, name: str, label: str, by: tuple[str, ...]) -> FileResults:
    """With the versions of records that name none, or that an argument or a field names."""

    def versioned(record: Record) -> Record:
        if name:
            # The other versions of the same argument are not known yet: a name alone might pool them.
            return replace(record, version=name if record.version is None else f"{name}:{record.version}")
        # What is called after the file, as its version is, is called like that in no other version.
        after_file = not record.named and record.version is None and record.benchmark == label
        return replace(record, benchmark="values") if after_file else record

    records: Iterable[Record] = map(versioned, results.records)
    if by:
        placed = onto_versions(label, results.records, by)
        records = (replace(record, version=of) for of, record in placed if isinstance(record, Record))
    return replace(results, records=tuple(records))


def listed(path: str) -> Iterator[str]:
    """The names of files in a list, one a line; ``-`` is standard input."""
    with sys.stdin if path == "-" else Path(path).open(encoding="utf-8") as lines:
        yield from (name for line in lines if (name := line.strip("\r\n")))


class CorpusComparison(Shown, Struct, frozen=True):
    """Many comparisons as a whole; each single one is a row of the Parquet files in ``conclusion.answers``.

    Attributes
    ----------
    conclusion : Conclusion
        Counts, geometric means, what holds together at one risk, the clearest changes.
    corpus : str
        Where it is.
    asked : Asked
        What was asked.
    """

    conclusion: Conclusion
    corpus: str
    asked: Asked

    @property
    def problems(self) -> tuple[str, ...]:
        """What was left out of the files of the corpus, a line each."""
        return tuple(f"left out: {line}" for line in why_left_out(rejected(self.corpus, self.asked.where)))

    def keys(self) -> Iterator[Key]:
        """The benchmarks that were compared."""
        names = query(self.conclusion.answers, "SELECT DISTINCT benchmark FROM answers")["benchmark"]
        yield from (Key(name.as_py(), self.conclusion.metric) for name in names)

    def to_json(self, **more: object) -> str:
        """What ``speedproof corpus compare --json`` writes: all comparisons of a few, else the largest changes."""
        results = self.conclusion.results
        if (few := self._few()) is not None:
            names = ("only_reference", "only_candidate", "problems")
            results = (replace(few[0], **{name: getattr(results[0], name) for name in names}),)
        return comparisons_to_json("corpus compare", results, corpus=self.conclusion, **more)

    def reports(self, *, details: bool = False, everything: bool = False) -> Iterable[Report]:
        """The conclusion in words; ``everything``: up to a hundred of the largest changes."""
        few = self._few()
        return (compared(self.conclusion, few and few[0], details=details, everything=everything),)

    def why(self) -> WhyResult:
        """What the differences of two versions go with: of all benchmarks, or of the largest changes."""
        from speedproof.api.whys import WhyResult, why
        from speedproof.corpus.conclude import samples_of

        conclusion = self.conclusion
        if conclusion.pairs > 1:
            raise UsageError(
                "what differences go with is said of two versions; name a reference and a candidate"
            )
        largest = [name for name, *_ in conclusion.largest]
        names = largest if conclusion.comparisons > MANY else [key.benchmark for key in self.keys()]
        if not names:
            return WhyResult({})
        whole = conclusion.results[0]
        versions = whole.reference, whole.candidate
        ((_, suite),) = samples_of(self.corpus, {versions: names}, self.asked.where)
        return why(suite, reference=versions[0], metric=conclusion.metric, confidence=1 - conclusion.alpha)

    def _few(self) -> tuple[SuiteComparison, Suite] | None:
        """The same comparison in memory, if it fits on one sheet; otherwise None."""
        from speedproof.corpus.conclude import in_memory

        if not fits_one_sheet(self.conclusion):
            return None
        whole = self.conclusion.results[0]
        chosen = {(whole.reference, whole.candidate): [key.benchmark for key in self.keys()]}
        return next(in_memory(self.corpus, chosen, self.asked))

    def written(self) -> Reported:
        """With the largest changes drawn, for which their samples are read."""
        from speedproof.corpus.conclude import in_memory
        from speedproof.reporting.formats.html.panels import panels

        if (few := self._few()) is not None:
            report = compared(self.conclusion, few[0], details=True)
            return Reported((report,), few[1], results=[few[0]])
        chosen: dict[tuple[str, str], list[str]] = {}
        for name, *versions in self.conclusion.largest:
            chosen.setdefault((versions[0], versions[1]), []).append(name)
        drawn = {
            (result.reference, result.candidate, name): panel
            for result, suite in in_memory(self.corpus, chosen, self.asked)
            for name, panel in panels(result, suite, result.margin).items()
        }
        return Reported((compared(self.conclusion, None, details=True, everything=True, drawn=drawn),))

    def __repr__(self) -> str:
        return f"<CorpusComparison: {plural(self.conclusion.comparisons, 'comparison')}>"


class CorpusModelled(Shown, Struct, frozen=True):
    """The mixtures of a corpus as a whole; each single one is a row of the Parquet files in ``models.answers``."""

    command = "corpus model"
    models: CorpusModels
    versions: tuple[str, ...] = ()

    def exported(self) -> CorpusModels:
        """The result in the form for other programs."""
        return self.models

    def reports(self) -> Iterable[Report]:
        """What they say together, in words."""
        from speedproof.reporting.corpus import modelled

        return (modelled(self.models, self.versions),)

    def __repr__(self) -> str:
        return f"<CorpusModelled: {plural(self.models.samples, 'sample')}>"


class CorpusChanged(Shown, Struct, frozen=True):
    """The changes along the versions of a corpus, in ``changes.changes``."""

    command = "corpus changes"
    changes: CorpusChanges
    versions: tuple[str, ...] = ()

    def exported(self) -> CorpusChanges:
        """The result in the form for other programs."""
        return self.changes

    def reports(self, *, everything: bool = False) -> Iterable[Report]:
        """The changes in words."""
        from speedproof.reporting.history import changed

        return (changed(self.changes, self.versions, everything=everything),)

    def __repr__(self) -> str:
        return f"<CorpusChanged: {plural(len(self.changes.changes), 'change')}>"
