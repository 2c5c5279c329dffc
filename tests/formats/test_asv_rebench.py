"""asv and ReBench, against the numbers that stand in files of the tools themselves."""

import csv
import json
import pickle
import shutil
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.formats.reading import changed, load, processes, split, times

import speedproof as sp
from speedproof.data.sample import Trait
from speedproof.errors import FormatError
from speedproof.formats import detect, read

# asv ----------------------------------------------------------------------------------------------------


@pytest.fixture
def asv_samples(files: Path) -> Path:
    return files / "asv" / "results" / "box" / "067eaa49-samples.json"


def test_asv_samples_against_json(asv_samples: Path) -> None:
    """The medians of the samples are the results that asv itself computed from them."""
    records, skipped = split(asv_samples)
    content = load(asv_samples)
    columns = content["result_columns"]
    rows = {name: dict(zip(columns, row, strict=False)) for name, row in content["results"].items()}
    sort = rows["suite.Suite.time_sort"]
    names = [f"suite.Suite.time_sort({n}, '{order}')" for n in (100, 1000) for order in ("asc", "desc")]
    found = {r.benchmark: r for r in records}
    for name, samples, result in zip(names[:3], sort["samples"], sort["result"], strict=False):
        assert found[name].values.tolist() == samples
        assert np.median(found[name].values) == pytest.approx(result, rel=1e-12)
    assert names[3] not in found, "the benchmark itself skips it"
    assert found["suite.time_sum"].values.tolist() == rows["suite.time_sum"]["samples"][0]
    units = {r.benchmark: (r.metric, r.unit) for r in records if "time" not in r.benchmark}
    memory = dict.fromkeys(("suite.mem_list", "suite.peakmem_list"), ("memory", "B"))
    assert units == {**memory, "suite.track_size": ("value", "objects")}
    expected = [("suite.Suite.time_sort", True), ("suite.time_fail", False)]
    assert [(s.benchmark, s.expected) for s in skipped] == expected
    fields = dict(found["suite.time_sum"].fields)
    assert (fields["machine"], fields["cpu"], fields["commit"][:8]) == ("box", "a processor", "067eaa49")


@pytest.mark.parametrize(("called", "rounds"), [("rounds", 2), ("processes", 2), ("rounds", 1)])
def test_asv_rounds_are_processes_where_all_are_full(
    asv_samples: Path, tmp_path: Path, called: str, rounds: int
) -> None:
    """The benchmarks ask for 2 rounds of 4 (5) samples and have 8 (10); old asv calls rounds processes."""
    (tmp_path / "box").mkdir()
    path = Path(shutil.copy(asv_samples, tmp_path / "box" / "r.json"))
    listed = (asv_samples.parents[1] / "benchmarks.json").read_text()
    for size in (4, 5) if rounds == 1 else ():
        listed = listed.replace(f'"repeat": {size}', f'"repeat": {2 * size}')
    listed = listed.replace('"rounds": 2', f'"{called}": {rounds}')
    (tmp_path / "benchmarks.json").write_text(listed)
    found = {r.benchmark: r for r in split(path)[0]}
    assert processes(found["suite.time_sum"]) == [0] * 5 + [rounds - 1] * 5
    assert processes(found["suite.Suite.time_sort(100, 'asc')"]) == [0] * 4 + [rounds - 1] * 4
    assert found["suite.mem_list"].processes is None
    (tmp_path / "benchmarks.json").write_text(listed.replace('"unit": "seconds"', '"unit": "ms"'))
    again = {r.benchmark: r for r in split(path)[0]}
    assert again["suite.time_sum"].values == pytest.approx(found["suite.time_sum"].values / 1e3, rel=1e-15)


@pytest.mark.parametrize("why", ["no list", "damaged list", "changed since", "cut short"])
def test_asv_samples_of_unknown_rounds_count_as_from_one_process(
    asv_samples: Path, tmp_path: Path, why: str
) -> None:
    folder = tmp_path / "box"
    folder.mkdir()
    shutil.copy(asv_samples, folder / "r.json")
    listed = (asv_samples.parents[1] / "benchmarks.json").read_text()
    texts = {"damaged list": "{", "changed since": listed.replace('"version": "', '"version": "x')}
    if why != "no list":
        (tmp_path / "benchmarks.json").write_text(texts.get(why, listed))
    if why == "cut short":

        def cut(content: Any) -> None:
            place = content["result_columns"].index("samples")
            for name in ("suite.Suite.time_sort", "suite.time_sum"):
                content["results"][name][place][0].pop()

        changed(folder / "r.json", folder / "r.json", cut)
    records, skipped = split(folder / "r.json")
    told = [s.reason for s in skipped if s.path.endswith("benchmarks.json")]
    assert ["units follow the benchmarks' names" in reason for reason in told] == [True] * (why[:3] == "dam")
    record = next(r for r in records if r.benchmark == "suite.time_sum")
    assert record.processes is None
    assert Trait.ONE_PROCESS in record.traits
    assert "does not record which sample" in record.notes[0]
    assert (record.metric, record.unit) == ("time", "s"), "the unit follows the name"


def test_asv_medians_are_marked(files: Path) -> None:
    records, _ = split(files / "asv" / "results" / "box" / "067eaa49-medians.json")
    for record in records:
        assert record.values.size == 1
        assert (Trait.SUMMARY_ONLY in record.traits) == (record.metric == "time"), record
    assert "--record-samples" in times(records)[0].notes[0]


def test_asv_version_1(files: Path) -> None:
    records, skipped = split(files / "asv-version-1.json")
    assert {r.benchmark: (r.values.tolist(), r.unit) for r in records} == {
        "time_units.time_parse": ([0.0004], "s"), "time_units.mem_unit": ([728.0], "B"),
        "time_units.time_sizes(1)": ([0.25], "s"), "time_units.time_sizes(3)": ([0.75], "s"),
        "time_units.time_sampled": ([0.5, 0.25, 0.75], "s"),
    }  # fmt: skip
    assert [s.reason.partition(";")[0] for s in skipped if not s.expected] == [
        "the benchmark failed", "1 of 3 parameter sets failed", "1 results for 2 parameter sets",
    ]  # fmt: skip


def test_asv_folder_leaves_its_lists_out_without_complaint(files: Path) -> None:
    skipped = split(files / "asv")[1]
    beside = {Path(s.path).name: s.expected for s in skipped if not s.benchmark}
    assert beside == {"benchmarks.json": True, "machine.json": True}
    for name in beside:
        (path,) = (files / "asv").rglob(name)
        with pytest.raises(FormatError, match="this is asv's"):
            list(read(path))


# ReBench ------------------------------------------------------------------------------------------------


def test_rebench_against_csv(files: Path) -> None:
    """Three invocations of four iterations, the first of which is warm-up in bench.conf."""
    records, skipped = split(files / "rebench.data")
    lines = (files / "rebench.data").read_text().splitlines()
    rows = list(csv.DictReader((line for line in lines if not line.startswith("#")), delimiter="\t"))
    named = itemgetter("benchmark", "executor", "criterion")
    assert len(rows) == 2 * 2 * 2 * 3 * 4
    for record in records:
        criterion = "total" if record.metric == "time" else record.metric
        place = (record.benchmark, record.version, criterion)
        own = [row for row in rows if named(row) == place and int(row["iteration"]) > 1]
        scale = 1e-3 if criterion == "total" else 1024.0
        np.testing.assert_allclose(record.values, [float(r["value"]) * scale for r in own], rtol=1e-15)
        assert processes(record) == [int(r["invocation"]) - 1 for r in own]
        assert record.unit == ("s" if criterion == "total" else "B")
        told = {Trait.ORDER_KNOWN, Trait.WARMUP_REMOVED, *[Trait.MILLI] * (criterion == "total")}
        assert record.traits == told
    assert {(r.benchmark, r.version, r.metric) for r in records} == {
        (b, v, m) for b in ("Sort", "Reverse") for v in ("Plain", "Optimized") for m in ("time", "trace size")
    }
    fields = dict(records[0].fields)
    assert (fields["suite"], fields["hostName"], fields["osType"]) == ("Sorting", "box", "Linux")
    assert len(fields["commit"]) == 40
    (warm,) = skipped
    assert warm.expected
    assert warm.reason == "12 warm-up iterations of 2 benchmarks left out"


def test_rebench_of_old_versions_has_no_header(files: Path, tmp_path: Path) -> None:
    """The same rows without the header, with no column that is new since (tag, runId), are the same values."""
    rows = [line for line in (files / "rebench.data").read_text().splitlines() if line[:1].isdigit()]
    old = ["\t".join([*row.split("\t")[:12], "box"]) for row in rows]
    path = tmp_path / "old.data"
    path.write_text("\n".join(["#!rebench -D bench.conf All", *old, ""]))
    assert detect(path).name == "rebench"
    found = {(r.benchmark, r.version, r.metric): r for r in split(path)[0]}
    naive: dict[tuple[str, str, str], list[float]] = {}
    for row in (row.split("\t") for row in rows):
        metric = "time" if row[4] == "total" else row[4]
        scale = {"kb": 1024.0, "ms": 1e-3}[row[3]]
        naive.setdefault((row[5], row[6], metric), []).append(float(row[2]) * scale)
    assert found.keys() == naive.keys()
    for key, values in naive.items():
        assert found[key].values.tolist() == pytest.approx(values, rel=1e-15)
        assert "none was left out" in found[key].notes[0], "warm-up is unknown without the comments"


@pytest.mark.parametrize("least", [1.0, -1.0])
def test_asv_a_suite_has_what_the_file_says(tmp_path: Path, least: float) -> None:
    """Names, values and units, looked at or pickled; a plain number may be negative."""
    path = tmp_path / "a-v.json"
    results = {"track_x": [[least, 2.0], [["1", "2"]]], "time_y": [[3.0], [], [[4.0, 5.0]]]}
    columns = ["result", "params", "samples"]
    path.write_text(
        json.dumps({"commit_hash": "c", "requirements": {}, "result_columns": columns, "results": results})
    )
    suite = sp.read(path)
    found = {key.benchmark: (s.values.tolist(), s.unit) for (key, _), s in suite.samples.items()}
    assert found == {"track_x(1)": ([least], ""), "track_x(2)": ([2.0], ""), "time_y": ([4.0, 5.0], "s")}
    assert pickle.loads(pickle.dumps(suite)) == suite
