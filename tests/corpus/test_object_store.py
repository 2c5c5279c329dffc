"""A corpus in an object store: a local S3 server, where one is installed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import speedproof as sp
from speedproof.data.record import FileResults
from speedproof.errors import UsageError

pytest.importorskip("moto.server", reason="pip install 'moto[server]' for a local S3")

Results = list[tuple[str, FileResults]]


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """The URL of an empty bucket."""
    port = 5000 + os.getpid() % 1000
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        request = urllib.request.Request(f"http://127.0.0.1:{port}/bucket", method="PUT")
        for _ in range(600):
            try:
                urllib.request.urlopen(request).close()
                break
            except OSError:
                time.sleep(0.1)
        patch = pytest.MonkeyPatch()
        patch.setenv("AWS_ACCESS_KEY_ID", "x")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "x")
        yield f"s3://bucket/{{}}?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"
        patch.undo()
    finally:
        server.kill()
        server.wait()


def test_a_bucket_is_a_folder(bucket: str, tmp_path: Path, made_up: Callable[..., Results]) -> None:
    """Build, look, query and compare by URL, with the answers of a local corpus."""
    from speedproof.corpus.build import build
    from speedproof.corpus.place import Place

    url = bucket.format("corpus")
    for place in (url, str(tmp_path / "local")):
        build(Place.of(place), lambda builder: made_up(20))
    far, near = sp.Corpus(url), sp.Corpus(tmp_path / "local")
    assert far.info().rows == near.info().rows == 40
    sql = "SELECT benchmark, version, values FROM corpus ORDER BY ALL"
    assert far.query(sql).to_pylist() == near.query(sql).to_pylist()
    assert far.read("version = 'v0'").versions == ("v0",)
    a, b = (corpus.compare("v0", "v1", workers=2).conclusion for corpus in (far, near))
    assert (a.counts, a.joint, a.clearest) == (b.counts, b.joint, b.clearest)
    assert "/answers/" in a.answers
    with pytest.raises(UsageError, match="--append"):
        build(Place.of(url), lambda builder: made_up(1))
    with pytest.raises(UsageError, match="there is no corpus"):
        sp.Corpus(bucket.format("nowhere"))
