"""Write docs/schema.json, the JSON Schema of what every ``--json`` prints.

Run ``python docs/json_schema.py`` after a change of a result's type; a test fails while the file is out of date.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from msgspec import defstruct

from speedproof.corpus.changes import CorpusChanges
from speedproof.corpus.conclude import Conclusion
from speedproof.corpus.info import CorpusInfo
from speedproof.corpus.model import CorpusModels
from speedproof.history.alarms import ToldAlarms
from speedproof.history.result import ToldHistory
from speedproof.history.rows import Added, QueriedSample
from speedproof.mixture.analysis import Analysis
from speedproof.mixture.asked import Indices
from speedproof.protocols.calibration import Calibration
from speedproof.protocols.gate import GateDecision
from speedproof.protocols.hpt import Hpt
from speedproof.protocols.hpt_claims import HptClaims
from speedproof.protocols.modes import ModeComparison
from speedproof.protocols.planning import RunPlan
from speedproof.protocols.ranking import RunRanking, SuiteRanking
from speedproof.protocols.sequential import CandidateResult
from speedproof.protocols.speedup_test_tool import SuiteReport
from speedproof.protocols.suite import SuiteComparison
from speedproof.report.bisection import ToldBisection
from speedproof.report.schema import json_schema
from speedproof.report.stored import Context, StoredSuite
from speedproof.sessions import SessionOrigin

PAGE = Path(__file__).with_name("schema.json")

RESULTS: dict[str, list[Any]] = {
    "compare": [SuiteComparison],
    "suite": [SuiteReport],
    "hpt": [
        defstruct(
            "HptOfVersions", [("reference", str), ("candidate", str), ("hpt", Hpt), ("claims", HptClaims)]
        )
    ],
    "gate": [GateDecision],
    "history": [ToldHistory, ToldAlarms, Added, QueriedSample],
    "run": [CandidateResult, Calibration, RunPlan],
    "bisect": [ToldBisection],
    "corpus": [CorpusInfo],
    "corpus compare": [Conclusion],
    "corpus model": [CorpusModels],
    "corpus changes": [CorpusChanges],
    "corpus query": [dict[str, Any]],
    "model": [
        defstruct(
            "Modelled",
            [
                ("benchmark", str),
                ("metric", str),
                ("version", str),
                ("unit", str),
                ("order_known", bool),
                ("model", Analysis),
                ("quantiles", list[tuple[float, float]]),
                ("below", list[tuple[float, float]]),
                ("observations", list[list[float]] | None),
                ("metrics", Indices | None),
            ],
        )
    ],
    "rank": [
        defstruct(
            "RankedVersions",
            [
                ("benchmark", str),
                ("metric", str),
                ("unit", str),
                ("ranking", RunRanking),
                ("advice", str),
                ("modes", ModeComparison | None),
                ("conclusion", str | None),
            ],
        )
    ],
    "show": [StoredSuite],
}
ATTACHED: dict[str, dict[str, Any]] = {
    "compare": {"rankings": dict[str, SuiteRanking], "suite": StoredSuite, "context": Context},
    "run": {"session": SessionOrigin},
}


def text() -> str:
    """The whole file."""
    return json.dumps(json_schema(RESULTS, ATTACHED), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
