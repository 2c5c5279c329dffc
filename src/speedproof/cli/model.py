"""``speedproof model``: the Gaussian mixture behind each sample, tested by bootstrap."""

from typing import Annotated, Literal

import speedproof as sp
from speedproof.cli.command import Command
from speedproof.cli.console import Console
from speedproof.cli.files import check_outputs, joint_of, load_chosen, report_leftovers, write_answer
from speedproof.declaring import Excludes, Needs, Title
from speedproof.options import (
    Choosing,
    CommandOptions,
    Modelling,
    Output,
    Reading,
    ResultFiles,
    answer,
    handed,
)


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
        Excludes("max_components bootstrap distance fast undersampling ignore_rounding"),
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
    fast: Annotated[
        bool,
        "choose mixtures of larger samples by 3,000 quantiles, which may miss a component of few values; end the "
        "bootstrap's fits early, so that p may shift a little",
    ] = False
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
    quantile: Annotated[
        tuple[float, ...], "P", "the value below which a run stays with probability P", Title("asking")
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
            "components compatible bootstrap fast undersampling distance ignore_rounding quantile below metrics "
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


def run(asked: ModelOptions, console: Console) -> int:
    """Carry the command out."""
    output = asked.output
    check_outputs(output, *asked.files)
    if asked.joint is not None:
        joint = joint_of(asked.joint, asked.files, asked.reading, asked.choosing, console)
        write_answer(asked, output, console, joint.reports, joint.to_json)
        return 0
    if asked.bootstrap == 0:
        of_test = ("distance", "undersampling", "ignore_rounding")
        asked.refuse(*of_test, because="--bootstrap 0 tests nothing")
    suite, _ = load_chosen(asked.files, asked.reading, asked.choosing, console)
    with console.progress("modelling", len(suite.samples)) as ticker:
        result = sp.model(
            suite,
            metric="all",
            **handed(sp.model, asked, asked.modelling),
            rounding=not asked.ignore_rounding,
            quantiles=asked.quantile,
            done=ticker.advance,
        )
    for problem in result.problems:
        console.remark(problem)
    report_leftovers(suite, console)
    write_answer(asked, output, console, result.reports, result.to_json)
    return 0


COMMAND = Command(ModelOptions, run)
