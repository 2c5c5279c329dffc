"""``speedproof plot``: pictures of samples, mixtures and speedups."""

from __future__ import annotations

import os
from pathlib import Path

import speedproof as sp
from speedproof.cli.command import Args, Command, Option
from speedproof.cli.console import Console
from speedproof.cli.inputs import load, report_leftovers, select
from speedproof.cli.options import files, max_components, reading, selecting
from speedproof.reporting.names import file_names

_LONGEST = 255  # bytes of a file's name, of most file systems
KINDS = ("histogram", "density", "cdf", "order", "violins", "qq", "forest")

COMMAND = Command(
    "Draw each benchmark: the histograms of all its versions on one axis, with the fitted "
    "mixtures and their components, their kernel densities with normal fits, their distribution functions "
    "against the mixtures, or their violins side by side; or each sample: its runs in order coloured by "
    "component, or its normal and log-normal probability plots; or all speedups over the reference in one "
    "picture (forest). A few values so far out that they would squeeze the others are not drawn, and the "
    "picture says how many. Needs matplotlib: pip install matplotlib.",
    "  speedproof plot old.json new.json -o histograms.svg\n"
    "  speedproof plot results.json --kind order --only json_dumps -o order.png\n"
    "  speedproof plot gcc.json clang.json icc.json --kind violins -o versions.pdf\n"
    "  speedproof plot old.json new.json --kind forest -o speedups.svg\n"
    "With several pictures, benchmark and version are added to each file's name.",
    [
        files(),
        Option(
            "-o, --output PATH", "the file of the picture; ends in .svg, .png, .pdf or .html", required=True
        ),
        Option("--kind", "which picture (default: histogram)", choices=KINDS, default="histogram"),
        *selecting(),
        "modelling",
        max_components(),
        *reading(),
    ],
)


def run(args: Args, console: Console) -> int:
    """Carry the command out."""
    sp.plot.check_output(args.output)
    if args.kind in ("density", "qq", "forest"):
        args.refuse("max_components", because=f"--kind {args.kind} draws no mixture")
    suite = select(load(args.files, args), args, console)
    drawn = sp.pictures(
        suite, args.kind, reference=args.reference, max_components=args.max_components, remark=console.remark
    )
    report_leftovers(suite, console)
    for path, (_, picture) in zip(_paths(args.output, [name for name, _ in drawn]), drawn, strict=True):
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
