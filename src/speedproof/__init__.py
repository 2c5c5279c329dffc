"""speedproof proves speedups: verdicts on program versions from repeated measurements, with a stated risk.

Everything that is public stands in ``__all__`` below and is imported on first use.

Examples
--------
>>> import speedproof as sp
>>> r = sp.compare([10.1, 10.3, 9.9, 10.0, 10.2], [9.1, 9.0, 9.3, 9.2, 8.9], unit="ms")
>>> r.verdict.value, round(r.mean.speedup.value, 3), r.mean.speedup.low > 1.08
('faster', 1.11, True)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from speedproof import formats as formats
    from speedproof import mixture as mixture
    from speedproof import plot as plot
    from speedproof.api.bisections import bisect as bisect
    from speedproof.api.corpus import Corpus as Corpus
    from speedproof.api.gates import GateResult as GateResult
    from speedproof.api.gates import gate as gate
    from speedproof.api.history import History as History
    from speedproof.api.hpt import hpt as hpt
    from speedproof.api.models import JointResult as JointResult
    from speedproof.api.models import ModelResult as ModelResult
    from speedproof.api.models import joint as joint
    from speedproof.api.models import model as model
    from speedproof.api.pairs import PairResult as PairResult
    from speedproof.api.pairs import compare as compare
    from speedproof.api.pictures import pictures as pictures
    from speedproof.api.plans import PlanResult as PlanResult
    from speedproof.api.plans import plan as plan
    from speedproof.api.rankings import RankResult as RankResult
    from speedproof.api.rankings import rank as rank
    from speedproof.api.session_results import RaceResult as RaceResult
    from speedproof.api.sessions import measure as measure
    from speedproof.api.sessions import race as race
    from speedproof.api.speedup_test import speedup_test as speedup_test
    from speedproof.api.suites import SuiteResult as SuiteResult
    from speedproof.api.suites import compare_suite as compare_suite
    from speedproof.api.whys import OverResult as OverResult
    from speedproof.api.whys import WhyResult as WhyResult
    from speedproof.api.whys import why as why
    from speedproof.data.given import sample as sample
    from speedproof.data.notes import Assumption as Assumption
    from speedproof.data.sample import Sample as Sample
    from speedproof.data.suite import Suite as Suite
    from speedproof.errors import SpeedproofError as SpeedproofError
    from speedproof.formats.suites import read as read
    from speedproof.protocols.results import Verdict as Verdict
    from speedproof.reporting.bisection import BisectResult as BisectResult
    from speedproof.reporting.history_results import HistoryResult as HistoryResult
    from speedproof.reporting.hpt import HptResult as HptResult
    from speedproof.reporting.shown import remarks as remarks
    from speedproof.reporting.shown import report as report
    from speedproof.reporting.speedup_test import SpeedupTestResult as SpeedupTestResult

# Where each public name comes from; those that are modules themselves are named alone.
_HOMES = {
    "": "formats mixture plot",
    "api.bisections": "bisect",
    "api.corpus": "Corpus",
    "api.gates": "GateResult gate",
    "api.history": "History",
    "api.hpt": "hpt",
    "api.models": "JointResult ModelResult joint model",
    "api.pairs": "PairResult compare",
    "api.pictures": "pictures",
    "api.plans": "PlanResult plan",
    "api.rankings": "RankResult rank",
    "api.session_results": "RaceResult",
    "api.sessions": "measure race",
    "api.speedup_test": "speedup_test",
    "api.suites": "SuiteResult compare_suite",
    "api.whys": "OverResult WhyResult why",
    "data.given": "sample",
    "data.notes": "Assumption",
    "data.sample": "Sample",
    "data.suite": "Suite",
    "errors": "SpeedproofError",
    "formats.suites": "read",
    "protocols.results": "Verdict",
    "reporting.bisection": "BisectResult",
    "reporting.history_results": "HistoryResult",
    "reporting.hpt": "HptResult",
    "reporting.shown": "remarks report",
    "reporting.speedup_test": "SpeedupTestResult",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}
__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOME[name]
    value = (
        getattr(import_module(f"{__name__}.{home}"), name) if home else import_module(f"{__name__}.{name}")
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(shell: Any) -> None:
    """Give a notebook ``%%speedproof``; called by ``%load_ext speedproof``."""
    import_module(f"{__name__}.api.sessions").load_magics(shell)
