"""``speedproof history query``, ``export`` and ``import``: measurements as rows, the store as one file."""

from __future__ import annotations

import csv
import io
from operator import attrgetter
from pathlib import Path

import speedproof as sp
from speedproof.api.history_files import QueriedSample
from speedproof.cli.command import Args
from speedproof.cli.console import Console
from speedproof.cli.outputs import write_whole
from speedproof.errors import UsageError
from speedproof.reporting.history import LISTED, measured_report
from speedproof.reporting.json import to_json
from speedproof.reporting.numbers import plural


def query(history: sp.History, words: list[str], args: Args, console: Console) -> int:
    """Samples as a table, as JSON, or in a CSV or Parquet file."""
    last = None if args.output or args.json or args.all else LISTED
    patterns = [*words, *filter(None, [args.benchmark])]
    which = args.take("metric", "commit", "machine")
    rows = history.query(*patterns, **which, last=last)
    if args.output:
        _write(rows, args.output)
        console.out.write(f"{args.output}: {plural(len(rows), 'sample')}\n")
    elif args.json:
        console.out.write(to_json("history", rows))
    else:
        many = history.count(*patterns, **which) if len(rows) == last else len(rows)
        console.write(measured_report(rows, args.store, many))
    return 0


def _write(rows: list[QueriedSample], output: str) -> None:
    names = QueriedSample.__struct_fields__
    if output.endswith(".parquet"):
        try:
            import pyarrow as pa
            from pyarrow import parquet
        except ImportError:
            raise UsageError(f"{output}: Parquet needs pyarrow: pip install pyarrow") from None
        beside = Path(f"{output}.new")
        columns = {name: [getattr(row, name) for row in rows] for name in names}
        parquet.write_table(pa.table(columns), beside)
        beside.replace(output)
    elif output.endswith(".csv"):
        told = io.StringIO(newline="")
        writer = csv.writer(told, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(map(attrgetter(*names), rows))
        write_whole(Path(output), told.getvalue())
    else:
        raise UsageError(f"{output}: rows are written as .csv or .parquet")


def transfer(history: sp.History, action: str, words: list[str], console: Console) -> int:
    """The whole store to one file, or what such a file holds into the store."""
    if len(words) != 1:
        raise UsageError(f"name one file: speedproof history {action} FILE")
    if action == "export":
        console.out.write(f"{words[0]}: {plural(history.export(words[0]), 'sample')}\n")
    else:
        console.out.write(f"{plural(history.import_(words[0]), 'new sample')} from {words[0]}\n")
    return 0
