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
    from speedproof.api.bisections import BisectResult as BisectResult
    from speedproof.api.bisections import bisect as bisect
    from speedproof.api.corpus import Corpus as Corpus
    from speedproof.api.gates import GateResult as GateResult
    from speedproof.api.gates import gate as gate
    from speedproof.api.history import History as History
    from speedproof.api.history_results import HistoryResult as HistoryResult
    from speedproof.api.hpt import HptResult as HptResult
    from speedproof.api.hpt import hpt as hpt
    from speedproof.api.inputs import OverResult as OverResult
    from speedproof.api.joints import JointResult as JointResult
    from speedproof.api.joints import joint as joint
    from speedproof.api.models import ModelResult as ModelResult
    from speedproof.api.models import model as model
    from speedproof.api.pairs import PairResult as PairResult
    from speedproof.api.pairs import compare as compare
    from speedproof.api.pictures import pictures as pictures
    from speedproof.api.plans import PlanResult as PlanResult
    from speedproof.api.plans import plan as plan
    from speedproof.api.race_results import RaceResult as RaceResult
    from speedproof.api.rankings import RankResult as RankResult
    from speedproof.api.rankings import rank as rank
    from speedproof.api.reports import report as report
    from speedproof.api.sessions import measure as measure
    from speedproof.api.sessions import race as race
    from speedproof.api.speedup_test import SpeedupTestResult as SpeedupTestResult
    from speedproof.api.speedup_test import speedup_test as speedup_test
    from speedproof.api.suites import SuiteResult as SuiteResult
    from speedproof.api.suites import compare_suite as compare_suite
    from speedproof.api.whys import WhyResult as WhyResult
    from speedproof.api.whys import why as why
    from speedproof.data.given import sample as sample
    from speedproof.data.notes import Assumption as Assumption
    from speedproof.data.remarks import remarks as remarks
    from speedproof.data.sample import Sample as Sample
    from speedproof.data.suite import Suite as Suite
    from speedproof.errors import SpeedproofError as SpeedproofError
    from speedproof.formats.suites import read as read
    from speedproof.protocols.results import Verdict as Verdict

# Where each public name comes from; one that is a module itself is named alone.
_HOME = {
    "Assumption": "data.notes",
    "Corpus": "api.corpus",
    "BisectResult": "api.bisections",
    "GateResult": "api.gates",
    "History": "api.history",
    "HistoryResult": "api.history_results",
    "HptResult": "api.hpt",
    "JointResult": "api.joints",
    "ModelResult": "api.models",
    "OverResult": "api.inputs",
    "PairResult": "api.pairs",
    "PlanResult": "api.plans",
    "RaceResult": "api.race_results",
    "RankResult": "api.rankings",
    "Sample": "data.sample",
    "SpeedproofError": "errors",
    "SpeedupTestResult": "api.speedup_test",
    "Suite": "data.suite",
    "SuiteResult": "api.suites",
    "Verdict": "protocols.results",
    "WhyResult": "api.whys",
    "bisect": "api.bisections",
    "compare": "api.pairs",
    "compare_suite": "api.suites",
    "formats": "",
    "gate": "api.gates",
    "hpt": "api.hpt",
    "joint": "api.joints",
    "measure": "api.sessions",
    "mixture": "",
    "model": "api.models",
    "pictures": "api.pictures",
    "plan": "api.plans",
    "plot": "",
    "race": "api.sessions",
    "rank": "api.rankings",
    "read": "formats.suites",
    "remarks": "data.remarks",
    "report": "api.reports",
    "sample": "data.given",
    "speedup_test": "api.speedup_test",
    "why": "api.whys",
}
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
    import_module(f"{__name__}.api.notebook").load(shell)
