"""The states of runs by several metrics at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from speedproof.api.shown import Shown
from speedproof.data.checked import checked
from speedproof.data.suite import Key, Suite
from speedproof.errors import UsageError
from speedproof.protocols.joint import JointModel, joint_models, states_of_runs
from speedproof.reporting.joint import report
from speedproof.reporting.model import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class JointResult(Shown, Struct, frozen=True):
    """The states of runs. ``print`` shows what ``speedproof model --joint`` shows.

    Attributes
    ----------
    models : tuple of JointModel
        Of each benchmark and version.
    suite : Suite
        The samples.
    metrics : tuple of str
        By which runs fall into states.

    Examples
    --------
    >>> import speedproof as sp
    >>> found = sp.joint(sp.read("examples/faults/session.jsonl"), ["time", "minor-faults"])
    >>> found
    <JointResult: 2 samples by time and minor-faults>
    >>> 0 < found.models[1].others[0].better < 1
    True
    """

    models: tuple[JointModel, ...]
    suite: Suite
    metrics: tuple[str, ...]

    def reports(self, *, everything: bool = False, details: bool = False) -> Iterable[Report]:
        """The result in words, for every format."""
        return [report(self.models)]

    def to_json(self) -> str:
        """What ``speedproof model --joint --json`` writes."""
        from speedproof.reporting.json import to_json

        return to_json("model", self.models)

    def pictures(self) -> list[tuple[str, Axes]]:
        """The runs of each version by the first two metrics, and an ellipse for each state."""
        from speedproof.data.units import scale_of
        from speedproof.plot.samples import ellipses

        drawn = []
        for m in self.models:
            samples = [self.suite.samples[Key(m.benchmark, name), m.version] for name in self.metrics]
            scales = [scale_of(float(abs(s.values).max()), s.unit) for s in samples[:2]]
            axes = [
                f"{name} in {unit}" if unit else name
                for name, (_, unit) in zip(m.metrics, scales, strict=False)
            ]
            x, y = (s.values / factor for s, (factor, _) in zip(samples, scales, strict=False))
            title = f"{m.benchmark} ({m.version})"
            drawn.append(
                (title, ellipses(x, y, states_of_runs(samples), axes=(axes[0], axes[1]), title=title))
            )
        return drawn

    def __repr__(self) -> str:
        return f"<JointResult: {len(self.models)} samples by {' and '.join(self.metrics)}>"


@checked()
def joint(suite: Suite, metrics: Sequence[str]) -> JointResult:
    """Fit the states that runs fall into by several metrics at once, and compare versions in all of them.

    A mixture of normal distributions, independent within a state, no narrower than the metrics' resolution; the
    number of states is chosen by ICL.

    Parameters
    ----------
    suite : Suite
        With several metrics of the same runs.
    metrics : sequence of str
        Two or more of them; the first orders the states.

    Returns
    -------
    JointResult
        The states of each version of each benchmark that has these metrics.

    Raises
    ------
    SpeedproofError
        Fewer than two metrics, or one that the suite lacks; metrics of other runs.

    References
    ----------
    J. Worms, S. Touati: "Modelling program's performance with Gaussian mixtures for parametric statistics", 2016,
    section 8.1.

    Examples
    --------
    >>> import speedproof as sp
    >>> found = sp.joint(sp.read("examples/faults/session.jsonl"), ["time", "minor-faults"])
    >>> [sorted({round(state.means[1]) for state in m.states}) for m in found.models]
    [[53, 2101], [53, 2101]]
    """
    names = tuple(dict.fromkeys(metrics))
    if len(names) < 2:
        raise UsageError(f"joint states take two metrics or more; there are {', '.join(suite.metrics)}")
    for name in names:
        suite.select(metric=name)  # says what there is
    models: list[JointModel] = []
    for benchmark in suite.benchmarks:
        versions = {
            version: [suite.samples[Key(benchmark, name), version] for name in names]
            for version in suite.versions
            if all((Key(benchmark, name), version) in suite.samples for name in names)
        }
        models += joint_models(benchmark, versions, names)
    if not models:
        raise UsageError(f"no benchmark has {' and '.join(names)}")
    return JointResult(tuple(models), suite, names)
