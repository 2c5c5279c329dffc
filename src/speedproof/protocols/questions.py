"""The questions that may be asked of two samples: what the command line, the suite and the reports iterate over.

A new question costs its module and an entry here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from speedproof.data.sample import Sample
from speedproof.data.suite import Key
from speedproof.protocols.compare import Rules, compare_means, compare_medians, compare_single_runs
from speedproof.protocols.results import Comparison
from speedproof.protocols.touati2009 import compare_2009

__all__ = ["DETAILS", "HEADLINE", "QUESTIONS", "Question", "QuestionName"]

QuestionName = Literal["mean", "median", "single run", "touati2009"]


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the protocol that answers it.

    Attributes
    ----------
    name : str
        Of the protocol, as in results and after ``--protocol``.
    title : str
        Over a column.
    where : str
        As it follows "the candidate is faster": ``"in mean"``.
    quantity : {"speedup", "probability"}
        What its estimate is.
    ask : callable
        From reference, candidate, rules and key to the answer.
    """

    name: QuestionName
    title: str
    where: str
    quantity: Literal["speedup", "probability"]
    ask: Callable[[Sample, Sample, Rules, Key], Comparison]


QUESTIONS: dict[str, Question] = {
    question.name: question
    for question in (
        Question("mean", "Mean", "in mean", "speedup", compare_means),
        Question("median", "Median", "in median", "speedup", compare_medians),
        Question("single run", "P[faster run]", "on a single run", "probability", compare_single_runs),
        Question("touati2009", "2009 protocol", "by the 2009 protocol", "speedup", compare_2009),
    )
}
"""By name, in the order in which they are shown."""

HEADLINE: QuestionName = "median"
"""The question whose answer is a benchmark's verdict."""

DETAILS: tuple[QuestionName, ...] = ("mean", "median", "single run")
"""What is asked when everything is wanted."""
