"""A corpus in an object store: a local S3 server."""

from __future__ import annotations

import shlex
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.command import refused, speedproof
from tests.corpus.made import made_up

import speedproof as sp
from speedproof.corpus.build import build
from speedproof.corpus.place import Place
from speedproof.errors import UsageError

pytestmark = pytest.mark.skipif(find_spec("moto") is None, reason="pip install 'moto[s3]' flask flask-cors")

GCC = Path(__file__).parents[2] / "examples" / "gcc"


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command, silent = [sys.executable, "-m", "moto.server", "-p", str(port)], subprocess.DEVNULL
    server = subprocess.Popen(command, stdout=silent, stderr=silent)
    try:
        request = urllib.request.Request(f"http://127.0.0.1:{port}/bucket", method="PUT")
        for _ in range(600):
            try:
                urllib.request.urlopen(request).close()
                break
            except OSError:
                time.sleep(0.1)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("AWS_ACCESS_KEY_ID", "x")
            patch.setenv("AWS_SECRET_ACCESS_KEY", "x")
            yield f"s3://bucket/{{}}?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"
    finally:
        server.kill()
        server.wait()


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_url_is_a_folder(request: pytest.FixtureRequest, tmp_path: Path, workers: int) -> None:
    """Build, look, query and compare by URL, of a bucket or of a folder, with the answers of a local corpus."""
    if workers == 1:
        for name in ("data", "inputs", "answers"):
            (tmp_path / "far" / name).mkdir(parents=True)
    url = (tmp_path / "far").as_uri() if workers == 1 else request.getfixturevalue("bucket").format("folder")
    kept = url.replace("far", "far/answers") if workers == 1 else None
    for place in (url, str(tmp_path / "local")):
        build(Place.of(place), lambda builder: made_up(20))
    far, near = sp.Corpus(url), sp.Corpus(tmp_path / "local")
    assert far.info().rows == near.info().rows == 40
    sql = "SELECT benchmark, version, values FROM corpus ORDER BY ALL"
    assert far.query(sql).to_pylist() == near.query(sql).to_pylist()
    assert sp.read(url, where="version = 'v0'").versions == ("v0",)
    a = far.compare("v0", "v1", workers=workers, out=kept).conclusion
    b = near.compare("v0", "v1", workers=workers).conclusion
    assert (a.counts, a.controlled, a.largest) == (b.counts, b.controlled, b.largest)
    assert "/answers" in a.answers
    with pytest.raises(UsageError, match="append=True"):
        build(Place.of(url), lambda builder: made_up(1))
    with pytest.raises(UsageError, match="there is no corpus"):
        sp.Corpus(url.replace("far", "nowhere").replace("folder", "nowhere"))


def environment_of(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """AWS's own variables, which do what the address in the URL does."""
    server = bucket.partition("endpoint_override=")[2].partition("&")[0]
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{server}")
    monkeypatch.setenv("AWS_REGION", "us-east-1")


def test_the_environment_names_the_server(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    environment_of(bucket, monkeypatch)
    sp.Corpus.build([GCC], "s3://bucket/plain")
    assert sp.Corpus(bucket.format("plain")).info().rows == sp.Corpus("s3://bucket/plain").info().rows == 12


@pytest.mark.slow
def test_every_command_takes_a_url(bucket: str, tmp_path: Path) -> None:
    """Built of files by URL, a corpus answers as the one in a folder does."""
    url, folder = bucket.format("gcc"), str(tmp_path / "gcc")
    some, o3 = ("--where", "benchmark < 'm'"), ("--where", "version = 'O3'")
    answers: dict[str, list[tuple[int, str, str]]] = {}
    for place, kept in (url, bucket.format("kept")), (folder, str(tmp_path / "kept")):
        own = tmp_path / f"{place == url}"
        for files, more in ((["O2.json"], []), (["O2.json", "O3.json"], ["--append"])):
            built = speedproof("corpus", "build", *(GCC / file for file in files), "-o", place, *more)
            assert built[0] == 0
        commands: list[tuple[str, ...]] = [
            ("compare", place, *some), ("rank", place), ("hpt", place), ("show", place, *o3),
            ("model", place, "--bootstrap", "0", *o3),
            ("gate", "--baseline", f"{place}:O2", "--candidate", f"{place}:O3", *some),
            ("gate", f"O2={place}", f"O3={GCC / 'O3.json'}", "--where", "version = 'O2'"),
            ("plot", place, "--only", "matmul", "--kind", "forest", "-o", f"{own}.svg"),
            ("history", "add", place, "--store", f"{own}.db", "--repository", str(tmp_path)),
            ("corpus", "query", place, "SELECT version, count(*) FROM corpus GROUP BY ALL ORDER BY ALL"),
            ("corpus", "compare", place, *some, "--workers", "1", "-o", kept),
            ("corpus", "query", kept, "SELECT count(*) FROM answers"),
            ("corpus", "model", place, "--bootstrap-samples", "0", "--workers", "1"),
            ("corpus", "changes", place, "--workers", "1"),
        ]  # fmt: skip
        answers[place] = [speedproof(*argv) for argv in commands]
    for far, near in zip(*answers.values(), strict=True):
        own_text = far[1].replace(url, folder).replace(f"{tmp_path}/True", f"{tmp_path}/False")
        told = [text.partition("Every row:")[0].splitlines() for text in (own_text, near[1])]
        assert (far[0], told[0]) == (near[0], told[1])
    paths = [(tmp_path / f"{far}.svg").read_text().count("<path") for far in (True, False)]
    assert paths[0] == paths[1]
    err = refused("gate", "--baseline", f"{url}:O9", "--candidate", f"{url}:O3")
    assert "there is no version O9; available: O2, O3" in err


@pytest.mark.slow
def test_the_commands_of_the_manuals_page(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of "Past one machine", in a bucket, with a process in the place of a cluster."""
    page = Path(__file__).parents[2] / "docs" / "scale.md"
    lines = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("speedproof ")]
    assert len(lines) > 3
    for version, source in (("old", "O2"), ("new", "O3")):
        (tmp_path / "results" / version).mkdir(parents=True)
        shutil.copy(GCC / f"{source}.json", tmp_path / "results" / version)
    monkeypatch.chdir(tmp_path)
    environment_of(bucket, monkeypatch)
    for line in lines:
        command = line.replace("--dask tcp://HOST:8786", "--workers 1")
        assert speedproof(*shlex.split(command, comments=True)[1:])[0] == 0, line
