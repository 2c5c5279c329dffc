"""The sheet of ``speedproof suite``: its marks are explained, and the explanation is true of every row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.command import speedproof


def written(folder: Path, samples: dict[str, tuple[object, object]]) -> Path:
    rows = ["Name,Sample1,Sample2,ConfLevel,Coef"]
    for name, sides in samples.items():
        for side, values in zip("xy", sides, strict=True):
            (folder / f"{name}.{side}").write_text("\n".join(map(repr, np.asarray(values).tolist())))
        rows.append(f"{name},{name}.x,{name}.y,0.95,1")
    path = folder / "c.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_the_mark_of_rows_without_a_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stands on rows that show none and on rows whose mean was not tested, as few runs are not normal."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    few = rng.exponential(size=12) ** 3 + 1.0
    same, fast = rng.normal(10.0, 1.0, 20), rng.normal(5.0, 1.0, 20)
    legend = "~: no difference shown at the row's level, or not tested."
    _, out, _ = speedproof("suite", written(tmp_path, {"few": (few, few[::-1]), "same": (same, same + 0.01)}))
    assert out.count("~ ") == 4
    assert legend in out
    assert "few: mean: more than 30 runs needed" in speedproof("suite", tmp_path / "c.csv", "--details")[1]
    _, out, _ = speedproof("suite", written(tmp_path, {"fast": (same, fast)}))
    assert "~" not in out
