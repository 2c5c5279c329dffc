"""``speedproof model``: the Gaussian mixture behind each sample, tested by bootstrap."""

from __future__ import annotations

import speedproof as sp
from speedproof.cli.command import Args, Command, Option
from speedproof.cli.console import Console
from speedproof.cli.inputs import load, report_leftovers, select
from speedproof.cli.options import files, folding, mixture, pages, reading, selecting
from speedproof.cli.outputs import check_outputs, write_answer

COMMAND = Command(
    "Fit a Gaussian mixture to each sample (K and variances chosen by BIC) and test it by a "
    "parametric bootstrap of the Kolmogorov-Smirnov distance. Where rounding makes "
    "values equal and the test rejects, both are repeated with a model of the rounding.",
    "  speedproof model results.json\n"
    "  speedproof model results.json --only 'json_*' --bootstrap 1000 --jobs 2\n"
    "  speedproof model times.txt --unit ms --json\n  speedproof model old.json new.json --fast --metrics\n"
    "  speedproof model times.txt --quantile 0.99 --below 12ms --observations",
    [
        files(),
        *selecting(),
        *mixture(),
        Option(
            "--components K",
            "exactly K; the test of fit is left out, as it is made for a K that BIC chose",
            excludes="max_components bootstrap distance fast undersampling ignore_rounding",
        ),
        Option(
            "--compatible",
            "follow VARCORE to the letter: R's mclust, whose answer depends on the unit; every peak is a mode; "
            "--undersampling 1 and --distance observed by default",
            excludes="components",
        ),
        "testing",
        Option("--bootstrap N", "bootstrap samples of the test; 0: no test (default: 200)", default=200),
        Option("--fast", "stop adding components early in the bootstrap; p may shift a little"),
        Option(
            "--undersampling C",
            "bootstrap samples hold C n values, 1 at most (default: 0.9, from 200 values on 0.8)",
        ),
        Option(
            "--distance [ks|observed|cvm|ad]",
            "of the test: Kolmogorov and Smirnov's (default), the same at the observations only, Cramer and von "
            "Mises' or Anderson and Darling's",
        ),
        Option("--ignore-rounding", "do not repeat a fit that is rejected with a model of the rounding"),
        "asking",
        Option("--quantile P", "the value below which a run stays with probability P", many=True),
        Option("--below VALUE", "the chance that a run takes at most VALUE: 12ms", many=True),
        Option(
            "--metrics",
            "compare versions: mean distance (I1), chance to be faster (I2), chance to be the fastest "
            "(I3), number of modes (I4)",
        ),
        Option("--observations", "list the values that fall into each component"),
        Option(
            "--delta VALUE",
            "with --metrics: head start in I2 = P[X < Y + VALUE]",
            default="0",
            needs="metrics",
        ),
        "options",
        *folding("the components of every mixture, with a histogram", what="sample"),
        Option("--json", "write the models as JSON"),
        *pages(),
        *reading(),
    ],
)


def run(args: Args, console: Console) -> int:
    """Carry the command out."""
    check_outputs(args)
    if args.bootstrap == 0:
        args.refuse(
            "fast", "distance", "undersampling", "ignore_rounding", because="--bootstrap 0 tests nothing"
        )
    suite = select(load(args.files, args), args, console)
    with console.progress("modelling", len(suite.samples)) as ticker:
        result = sp.model(
            suite,
            rounding=not args.ignore_rounding,
            quantiles=args.quantile,
            done=ticker.advance,
            **args.take("components", "compatible", "max_components", "bootstrap", "distance", "fast"),
            **args.take("undersampling", "seed", "jobs"),
            **args.take("below", "metrics", "delta", "observations"),
        )
    for problem in result.problems:
        console.remark(problem)
    report_leftovers(suite, console)
    write_answer(args, console, result.reports, result.to_json)
    return 0
