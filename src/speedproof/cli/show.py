"""The commands that show what is there: ``show`` samples, ``plot`` and ``model`` them, ``report`` comparisons."""

import os
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import speedproof as sp
from speedproof.cli.command import Command
from speedproof.cli.console import Console
from speedproof.cli.files import check_outputs, joint_of, load, load_chosen, report_leftovers, write_answer
from speedproof.declaring import Argument, Excludes, Needs, Taken, Title
from speedproof.options import (
    Choosing,
    CommandOptions,
    Fast,
    Modelling,
    Output,
    Reading,
    ResultFiles,
    answer,
    handed,
)
from speedproof.reporting.model import to_json
from speedproof.reporting.names import file_names


class ShowOptions(CommandOptions, frozen=True, kw_only=True):
    """Show what was read from result files.

    What was left out is shown, too, and why.

        speedproof show results.json
        speedproof show old.txt new.txt --unit ms
        speedproof show target/criterion --json
    """

    files: ResultFiles
    output: Annotated[
        Output,
        Taken(
            take="all json",
            all="every sample, not only the first",
            json="write the samples with all values as JSON",
        ),
    ]
    choosing: Annotated[Choosing, Taken(take="metric only skip", metric="the metric to show (default: all)")]
    reading: Reading


def _show(asked: ShowOptions, console: Console) -> int:
    from speedproof.reporting import samples
    from speedproof.reporting.stored import store

    choosing = asked.choosing
    suite = load(asked.files, asked.reading).select(choosing.only, choosing.skip, choosing.metric or "all")
    console.answer(
        lambda: to_json("show", [store(suite)]),
        lambda: [samples.report(suite, everything=asked.output.all)],
        json=asked.output.json,
    )
    return 0


class ReportOptions(CommandOptions, frozen=True, kw_only=True):
    """Report what a command that compares wrote with --json, without computing it again.

    With the samples in it (compare --with-samples) the HTML report draws them, too.

        speedproof compare old.json new.json --json --with-samples > results.json
        speedproof report results.json                        the answer again
        speedproof report results.json --html report.html
        speedproof report results.json --markdown - --junit tests.xml
    """

    results: Annotated[
        str,
        Argument(
            "RESULTS.json",
            "its output; - reads standard input",
        ),
    ]
    output: Annotated[Output, Taken(leave="json")]


def _report(asked: ReportOptions, console: Console) -> int:
    from speedproof.reporting.stored import read_document

    check_outputs(asked.output, asked.results)
    stdin = asked.results == "-"
    text = sys.stdin.buffer.read() if stdin else Path(asked.results).read_bytes()
    document, suite, made = read_document(text, "stdin" if stdin else asked.results)
    behind: dict[str, Any] = {"suite": suite, "context": document.context, "results": document.results}
    write_answer(asked, asked.output, console, made, str, **behind)
    return 0


_LONGEST = 255  # bytes of a file's name, of most file systems


class PlotOptions(CommandOptions, frozen=True, kw_only=True):
    """Draw each benchmark, each sample, or all speedups over the reference in one picture (forest).

    Of a benchmark: the histograms of all its versions on one axis, with the fitted mixtures and their components,
    their kernel densities with normal fits, their distribution functions against the mixtures, or their violins
    side by side. Of a sample: its runs in order coloured by component, or its normal and log-normal probability
    plots. A few values so far out that they would squeeze the others are not drawn, and the picture says how many.
    Needs matplotlib: pip install matplotlib.

        speedproof plot old.json new.json -o histograms.svg
        speedproof plot results.json --kind order --only json_dumps -o order.png
        speedproof plot gcc.json clang.json icc.json --kind violins -o versions.pdf
        speedproof plot old.json new.json --kind forest -o speedups.svg
      With several pictures, benchmark and version are added to each file's name.
    """

    files: ResultFiles
    picture: Annotated[str, "-o, --output PATH", "the file of the picture; ends in .svg, .png, .pdf or .html"]
    kind: Annotated[
        Literal["histogram", "density", "cdf", "order", "violins", "qq", "forest"],
        "which picture (default: histogram)",
    ] = "histogram"
    joint: Annotated[
        str | None,
        "NAMES",
        "instead, runs by two metrics, time,minor-faults, with an ellipse for each state that they fall into",
        Excludes("kind max_components"),
    ] = None
    choosing: Choosing
    modelling: Annotated[Modelling, Taken(take="max_components")]
    reading: Reading


def _plot(asked: PlotOptions, console: Console) -> int:
    """Carry the command out."""
    sp.plot.check_output(asked.picture)
    if asked.joint is not None:
        joint = joint_of(asked.joint, asked.files, asked.reading, asked.choosing, console)
        suite, drawn = joint.suite, joint.pictures()
    else:
        suite, reference = load_chosen(asked.files, asked.reading, asked.choosing, console)
    with console.progress("drawing", None) as ticker:
        if asked.joint is None:
            most = asked.modelling.max_components if "max_components" in asked.given else None
            drawn = sp.pictures(
                suite, asked.kind, reference=reference, max_components=most, remark=console.remark
            )
        ticker.of(len(drawn))
        paths = _paths(asked.picture, [name for name, _ in drawn])
        for path, (_, picture) in zip(paths, drawn, strict=True):
            sp.plot.save(picture, path)
            ticker.advance()
    report_leftovers(suite, console)
    console.remark(*(f"wrote {path}" for path in paths))
    return 0


def _paths(output: str, names: list[str]) -> list[Path]:
    """One file a picture; with several, their names go before the ending, spelt for file systems."""
    path = Path(output)
    if len(names) == 1:
        return [path]
    spelt = file_names(names, _LONGEST - len(os.fsencode(path.name)) - 1)
    return [path.with_name(f"{path.stem}-{name}{path.suffix}") for name in spelt]


class ModelOptions(CommandOptions, frozen=True, kw_only=True):
    """Fit a Gaussian mixture to each sample (K and variances chosen by BIC) and test the fit.

    The test is a parametric bootstrap of the Kolmogorov-Smirnov distance. Where rounding makes values equal and
    the test rejects, both are repeated with a model of the rounding.

        speedproof model results.json
        speedproof model results.json --only 'json_*' --bootstrap 1000 --jobs 2
        speedproof model times.txt --unit ms --json
        speedproof model old.json new.json --fast --metrics
        speedproof model run.jsonl --joint time,minor-faults
        speedproof model times.txt --quantile 0.99 --below 12ms --observations
    """

    files: ResultFiles
    choosing: Choosing
    modelling: Modelling
    components: Annotated[
        int | None,
        "K",
        "exactly K; the test of fit is left out, as it is made for a K that BIC chose",
        Excludes("max_components bootstrap fast ignore_rounding"),  # and what sp.model refuses beside it
    ] = None
    family: Annotated[
        Literal["mixture", "auto"],
        "auto: fit log-normal, gamma, shifted exponential and Weibull, too, and say which has the largest BIC",
        Excludes("components compatible"),
    ] = "mixture"
    compatible: Annotated[
        bool,
        "follow VARCORE to the letter: R's mclust, whose answer depends on the unit; every peak is a mode; "
        "--undersampling 1 and --distance observed by default",
        Excludes("components"),
    ] = False
    bootstrap: Annotated[
        int, "N", "bootstrap samples of the test; 0: no test (default: 200)", Title("testing")
    ] = 200
    fast: Fast = False
    undersampling: Annotated[
        float | None,
        "C",
        "bootstrap samples hold C n values, 1 at most (default: 0.9, from 200 values on 0.8)",
    ] = None
    distance: Annotated[
        Literal["ks", "observed", "cvm", "ad"] | None,
        "of the test: Kolmogorov and Smirnov's (default), the same at the observations only, Cramer and von "
        "Mises' or Anderson and Darling's",
    ] = None
    ignore_rounding: Annotated[bool, "do not repeat a fit that is rejected with a model of the rounding"] = (
        False
    )
    quantiles: Annotated[
        tuple[float, ...],
        "--quantile P",
        "the value below which a run stays with probability P",
        Title("asking"),
    ] = ()
    below: Annotated[tuple[str, ...], "VALUE", "the chance that a run takes at most VALUE: 12ms"] = ()
    metrics: Annotated[
        bool,
        "compare versions: mean distance (I1), chance to be faster (I2), chance to be the fastest "
        "(I3), number of modes (I4)",
    ] = False
    observations: Annotated[bool, "list the values that fall into each component"] = False
    joint: Annotated[
        str | None,
        "NAMES",
        "instead, the states that runs fall into by several metrics at once: time,minor-faults",
        Excludes(
            "components compatible bootstrap fast undersampling distance ignore_rounding quantiles below metrics "
            "observations delta"
        ),
    ] = None
    delta: Annotated[
        str, "VALUE", "with --metrics: head start in I2 = P[X < Y + VALUE]", Needs("metrics")
    ] = "0"
    output: Annotated[
        Output,
        answer(
            all="every sample, not only the clearest",
            details="the components of every mixture, with a histogram",
            json="write the models as JSON",
        ),
    ]
    reading: Reading


def _model(asked: ModelOptions, console: Console) -> int:
    """Carry the command out."""
    output = asked.output
    check_outputs(output, *asked.files)
    if asked.joint is not None:
        joint = joint_of(asked.joint, asked.files, asked.reading, asked.choosing, console)
        write_answer(asked, output, console, joint.reports, joint.to_json)
        return 0
    suite, _ = load_chosen(asked.files, asked.reading, asked.choosing, console)
    with console.progress("modelling", len(suite.samples)) as ticker:
        result = sp.model(
            suite,
            metric="all",
            **handed(sp.model, asked, asked.modelling),
            rounding=not asked.ignore_rounding,
            done=ticker.advance,
        )
    console.remark(*result.problems)
    report_leftovers(suite, console)
    write_answer(asked, output, console, result.reports, result.to_json)
    return 0


COMMANDS = {
    "show": partial(Command, ShowOptions, _show),
    "report": partial(Command, ReportOptions, _report),
    "plot": partial(Command, PlotOptions, _plot),
    "model": partial(Command, ModelOptions, _model),
}
