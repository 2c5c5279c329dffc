"""``speedproof plot``: pictures of samples, mixtures and speedups."""

import os
from pathlib import Path
from typing import Annotated, Literal

import speedproof as sp
from speedproof.cli.command import Command
from speedproof.cli.console import Console
from speedproof.cli.files import joint_of, load_chosen, report_leftovers
from speedproof.declaring import Excludes, Taken
from speedproof.options import Choosing, CommandOptions, Modelling, Reading, ResultFiles
from speedproof.reporting.names import file_names

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
    over: Annotated[
        str | None,
        "PARAMETER",
        "instead, speedups over a parameter, n of sort/n=10, as of 'compare --over'",
        Excludes("kind max_components joint"),
    ] = None
    choosing: Choosing
    modelling: Annotated[Modelling, Taken(take="max_components")]
    reading: Reading


def run(asked: PlotOptions, console: Console) -> int:
    """Carry the command out."""
    sp.plot.check_output(asked.picture)
    if asked.kind in ("density", "qq", "forest"):
        asked.refuse("max_components", because=f"--kind {asked.kind} draws no mixture")
    if asked.joint is not None:
        joint = joint_of(asked.joint, asked.files, asked.reading, asked.choosing, console)
        suite, drawn = joint.suite, joint.pictures()
    else:
        suite, reference = load_chosen(asked.files, asked.reading, asked.choosing, console)
    if asked.over is not None:
        drawn = [
            (
                asked.over,
                sp.compare_suite(suite, reference=reference, protocols="typical").over(asked.over).plot(),
            )
        ]
    elif asked.joint is None:
        most = asked.modelling.max_components
        drawn = sp.pictures(
            suite, asked.kind, reference=reference, max_components=most, remark=console.remark
        )
    report_leftovers(suite, console)
    for path, (_, picture) in zip(_paths(asked.picture, [name for name, _ in drawn]), drawn, strict=True):
        sp.plot.save(picture, path)
        console.remark(f"wrote {path}")
    return 0


def _paths(output: str, names: list[str]) -> list[Path]:
    """One file a picture; with several, their names go before the ending, spelt for file systems."""
    path = Path(output)
    if len(names) == 1:
        return [path]
    spelt = file_names(names, _LONGEST - len(os.fsencode(path.name)) - 1)
    return [path.with_name(f"{path.stem}-{name}{path.suffix}") for name in spelt]


COMMAND = Command(PlotOptions, run)
