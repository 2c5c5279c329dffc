"""What the analyses of a corpus give, in words and as pages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from speedproof.api.shown import Shown
from speedproof.errors import UsageError
from speedproof.reporting.model import Reported

if TYPE_CHECKING:
    from speedproof.api.whys import WhyResult
    from speedproof.corpus.changes import CorpusChanges
    from speedproof.corpus.compare import Asked
    from speedproof.corpus.conclude import Conclusion
    from speedproof.corpus.model import CorpusModels
    from speedproof.data.suite import Key, Suite
    from speedproof.protocols.suite import SuiteComparison
    from speedproof.reporting.model import Report


class CorpusComparison(Shown, Struct, frozen=True):
    """Many comparisons as a whole; each single one is a row of the Parquet files in ``conclusion.answers``.

    Attributes
    ----------
    conclusion : Conclusion
        Counts, geometric means, what holds together at one risk, the clearest changes.
    versions : tuple of str
        All of the corpus, among which short names stay distinct.
    corpus : str
        Where it is.
    asked : Asked or None
        What was asked.
    """

    conclusion: Conclusion
    versions: tuple[str, ...] = ()
    corpus: str = ""
    asked: Asked | None = None

    def keys(self) -> Iterator[Key]:
        """What was compared."""
        from speedproof.corpus.read import query
        from speedproof.data.suite import Key

        names = query(self.conclusion.answers, "SELECT DISTINCT benchmark FROM answers")["benchmark"]
        yield from (Key(name.as_py(), self.conclusion.metric) for name in names)

    def reports(self, *, details: bool = False, everything: bool = False) -> Iterable[Report]:
        """The conclusion in words; ``everything``: up to a hundred of the largest changes."""
        from speedproof.reporting.corpus import comparisons, of_few

        if (few := self._few()) is not None:
            return (of_few(self.conclusion, few[0], details=details, pairs=self._pairs()),)
        return (
            comparisons(
                self.conclusion, self.versions, details=details, everything=everything, pairs=self._pairs()
            ),
        )

    def why(self) -> WhyResult:
        """What the differences of two versions go with: of all benchmarks, or of the largest changes."""
        from speedproof.api.whys import WhyResult, alone, of_versions
        from speedproof.corpus.conclude import samples_of
        from speedproof.reporting.model import MANY

        conclusion = self.conclusion
        if conclusion.versions > 1:
            raise UsageError(
                "what differences go with is said of two versions; name a reference and a candidate"
            )
        if not conclusion.comparisons:
            return WhyResult({})
        clearest = [c.benchmark for c in conclusion.clearest]
        names = clearest if conclusion.comparisons > MANY else [key.benchmark for key in self.keys()]
        versions = conclusion.wholes[0][:2]
        where = self.asked.where if self.asked else None
        ((_, suite),) = samples_of(self.corpus, {versions: names}, where)
        explained = of_versions(suite, versions, conclusion.metric, conclusion.machine, conclusion.alpha)
        if names and not explained:
            raise alone(conclusion.metric)
        return WhyResult({versions[-1]: explained})

    def _few(self) -> tuple[SuiteComparison, Suite] | None:
        """All of it as of files, where it is no more than a sheet of files shows."""
        from speedproof.corpus.conclude import in_memory
        from speedproof.reporting.model import MANY

        conclusion = self.conclusion
        if not self.asked or conclusion.versions != 1 or conclusion.comparisons > MANY or conclusion.failures:
            return None
        reference, candidate, _ = conclusion.wholes[0]
        chosen = {(reference, candidate): [key.benchmark for key in self.keys()]}
        return next(in_memory(self.corpus, chosen, self.asked))

    def _pairs(self) -> int:
        """How many pairs of versions were asked for; 0 for neighbours, which depend on the benchmark."""
        pairs = self.asked.pairs if self.asked else ()
        if pairs == "all":
            return math.comb(len(self.versions), 2)
        return 0 if pairs == "consecutive" else len(pairs)

    def written(self) -> Reported:
        """With the largest changes drawn, for which their samples are read."""
        from speedproof.corpus.conclude import in_memory
        from speedproof.reporting.corpus import comparisons, of_few
        from speedproof.reporting.formats.html.panels import panels

        if (few := self._few()) is not None:
            result, suite = few
            return Reported(
                (of_few(self.conclusion, result, details=True, pairs=self._pairs()),), suite, results=[result]
            )
        chosen: dict[tuple[str, str], list[str]] = {}
        for c in self.conclusion.clearest:
            chosen.setdefault((c.reference.label, c.candidate.label), []).append(c.benchmark)
        pairs = in_memory(self.corpus, chosen, self.asked) if self.asked else ()
        drawn = {
            (result.reference, result.candidate, name): panel
            for result, suite in pairs
            for name, panel in panels(result, suite, result.margin).items()
        }
        report = comparisons(
            self.conclusion, self.versions, details=True, everything=True, drawn=drawn, pairs=self._pairs()
        )
        return Reported((report,))

    def __repr__(self) -> str:
        return f"<CorpusComparison: {self.conclusion.comparisons} comparisons>"


class CorpusModelled(Shown, Struct, frozen=True):
    """The mixtures of a corpus as a whole; each single one is a row of the Parquet files in ``models.answers``."""

    models: CorpusModels
    versions: tuple[str, ...] = ()

    def reports(self) -> Iterable[Report]:
        """What they say together, in words."""
        from speedproof.reporting.corpus import modelled

        return (modelled(self.models, self.versions),)

    def __repr__(self) -> str:
        return f"<CorpusModelled: {self.models.samples} samples>"


class CorpusChanged(Shown, Struct, frozen=True):
    """The changes along the versions of a corpus, in ``changes.changes``."""

    changes: CorpusChanges
    versions: tuple[str, ...] = ()

    def reports(self, *, everything: bool = False) -> Iterable[Report]:
        """The changes in words."""
        from speedproof.reporting.history import changed

        return (changed(self.changes, self.versions, everything=everything),)

    def __repr__(self) -> str:
        return f"<CorpusChanged: {len(self.changes.changes)} changes>"
