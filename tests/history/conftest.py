"""Places for a store: SQLite, and a PostgreSQL server of our own."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import speedproof as sp


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """URL of a server of our own; skips where PostgreSQL is not installed."""
    pytest.importorskip("psycopg")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    on_path = shutil.which("pg_ctl")
    control = Path(on_path) if on_path else (found[-1] if found else None)
    if control is None:
        pytest.skip("PostgreSQL's server is not installed")
    folder = Path(tempfile.mkdtemp(prefix="speedproof-pg-"))  # pytest's own folders are closed to other users
    as_user: list[str] = []
    if os.geteuid() == 0:  # the server refuses to run as root
        if shutil.which("setpriv") is None:
            pytest.skip("no other user to run PostgreSQL as")
        try:
            shutil.chown(folder, 65534, 65534)
        except PermissionError:
            pytest.skip("this root may not become another user")
        as_user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    data = folder / "data"
    subprocess.run(
        [*as_user, str(control.parent / "initdb"), "-D", str(data), "-U", "test", "-A", "trust", "--no-sync"],
        check=True,
        capture_output=True,
    )
    options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
    start = [*as_user, str(control), "-D", str(data), "-o", options, "-l", str(folder / "log"), "-w", "start"]
    subprocess.run(start, check=True, capture_output=True)
    try:
        yield f"postgresql://test@/postgres?host={folder}"
    finally:
        stop = [*as_user, str(control), "-D", str(data), "-m", "immediate", "stop"]
        subprocess.run(stop, capture_output=True, check=False)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for a store, in both kinds of database."""
    if request.param == "sqlite":
        return str(tmp_path / "speedproof.db")
    url = str(request.getfixturevalue("postgresql"))
    import psycopg

    name = f"t{abs(hash(str(tmp_path)))}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return url.replace("/postgres?", f"/{name}?")


@pytest.fixture
def history(tmp_path: Path) -> sp.History:
    """A new store, of no repository."""
    return sp.History(tmp_path / "s.db", "/")


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite in this process: the machine does not fail during a test."""
    connect: Any = sqlite3.connect

    def quick(*where: Any, **how: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*where, **how)
        connection.execute("PRAGMA synchronous=OFF")
        return connection

    monkeypatch.setattr(sqlite3, "connect", quick)
