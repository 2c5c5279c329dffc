"""How often each family has the largest BIC beside the mixtures, on the samples of result files.

``python -m studies.families FOLDER...``: samples of 20 independent positive values or more that differ.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from speedproof import SpeedproofError, read
from speedproof.arrays import FloatArray
from speedproof.mixture.analysis import families, independent
from speedproof.mixture.fitting import fit

_LEAST = 20


def samples(folders: list[Path]) -> Iterator[FloatArray]:
    """The times of every file that can be read."""
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.is_file()):
        try:
            suite = read(path)
        except SpeedproofError:
            continue
        for (key, _), sample in suite.samples.items():
            values = independent(sample)[0].values
            if key.metric == "time" and values.size >= _LEAST:
                yield values


def main() -> None:
    """Count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    wins: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    total = 0
    for values in samples(parser.parse_args().folders):
        found = families(values, N=99)
        if not found:
            continue
        mixture = fit(values)
        total += 1
        name = "one normal" if mixture.components == 1 else "a mixture"
        wins[found[0].name if found[0].bic > mixture.bic else name] += 1
        kept.update(family.name for family in found if family.pvalue is not None and family.pvalue > 0.05)
    print(f"{total} samples")
    for name, count in wins.most_common():
        print(f"{name}: {count / total:.1%} have the largest BIC; not rejected in {kept[name] / total:.1%}")


if __name__ == "__main__":
    main()
