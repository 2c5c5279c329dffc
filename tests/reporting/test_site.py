"""The history's pages: what they hold, and what a browser makes of them when opened from a file."""

import json
import math
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import numpy as np
import pytest
from msgspec.structs import replace
from tests.history.measured import MeasuredCommit, measurements

from speedproof.data.suite import Key
from speedproof.errors import UsageError
from speedproof.history.changes import find_history_changes
from speedproof.history.commits import Commit, commit_address
from speedproof.history.rows import StoredSeries, Triage
from speedproof.history.tracks import Track, tracks_of
from speedproof.reporting.history_results import HistoryResult
from speedproof.reporting.site import encode_line, encode_track, write_projects, write_site

HOSTILE = '"><img src=x onerror=alert(1)></script><script>alert(2)</script>'
STEP = 40


def history(names: tuple[str, ...] = ("parse", HOSTILE), many: int = 60, slower: int = 1) -> HistoryResult:
    """Benchmarks of which the first become 10 % slower at commit 40."""
    rng = np.random.default_rng(5)
    commits = tuple(
        Commit(f"{i:040x}", f"Change {i} {HOSTILE}", f"2026-01-{1 + i // 24:02}T{i % 24:02}:00:30+01:00")
        for i in range(many)
    )
    step = 0.1 * (np.arange(many) >= STEP)
    levels = [
        0.01 * (1 + step * (k < slower)) * np.exp(0.01 * rng.normal(size=many)) for k, _ in enumerate(names)
    ]
    places = [(k, i, level) for k, of in enumerate(levels) for i, level in enumerate(of.tolist())]
    rows = [
        MeasuredCommit(k, i, 0, commits[i], False, level, n, level * 0.99, level * 1.02)
        for n, (k, i, level) in enumerate(places)
    ]
    tracks = tracks_of(measurements(rows), commits, {0: HOSTILE})
    series = {k: StoredSeries(k, Key(name), "s", False) for k, name in enumerate(names)}
    return HistoryResult("s.db", 0.95, commits, series, tracks, find_history_changes(tracks), (), None)


def told(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    inside = text[text.index("(") + 1 : text.rindex(")")]
    return json.loads(inside.split(",", 1)[1] if path.stem.isdecimal() else inside)


def test_values_come_back_from_the_pages(tmp_path: Path) -> None:
    """Medians and bounds to a ten-thousandth, every commit in its place."""
    result = history()
    write_site([result], tmp_path / "site", made="today")
    (track,) = told(tmp_path / "site" / "data" / "0.js")
    values = np.exp(track["o"] + np.array(track["v"]) * track["q"])
    np.testing.assert_allclose(values, np.exp(result.tracks[0].level), rtol=1.1e-4)
    high = np.exp(track["o"] + (np.array(track["v"]) + track["h"]) * track["q"])
    np.testing.assert_allclose(high, np.exp(result.tracks[0].level) * 1.02, rtol=2.2e-4)
    assert track["k"] == [[0, 60]]
    index = told(tmp_path / "site" / "data" / "index.js")
    assert [date for _, _, date, _ in index["commits"]][:25:24] == ["2026-01-01T00:00", "2026-01-02T00:00"]
    (change,) = index["changes"]
    assert (change["s"], change["slower"]) == (0, 1)
    assert change["e"] <= STEP <= change["l"]


def test_the_index_tells_tracks_of_a_series_and_what_was_said(tmp_path: Path) -> None:
    """Two machines that measured two benchmarks; a commit's tag, and a decision with who made it and when."""
    main = history(("parse", "print"), slower=2)
    twins = [replace(track, basis="another") for track in main.tracks]
    changes = (*main.changes, *(replace(c, track=twins[c.track.series]) for c in main.changes))
    (at,) = {change.commit for change in main.changes}
    said = Triage(at.sha, "parse", "blessed", "as planned", "me", "2026-02-03T04:05:06")
    result = replace(main, tracks=(*main.tracks, *twins), changes=changes, decisions=(said,))
    tags = {at.sha: "v2", "0" * 39 + "z": "v0"}
    write_site([result], tmp_path / "site", made="today", link="https://x/", tags=tags)
    index = told(tmp_path / "site" / "data" / "index.js")
    assert [(change["s"], change["t"]) for change in index["changes"]] == [(0, 0), (1, 0), (0, 1), (1, 1)]
    place = [commit.sha for commit in main.commits].index(at.sha)
    assert {change["k"] for change in index["changes"]} == {place}
    assert index["said"] == [[place, "parse", "blessed: as planned (me, 2026-02-03)"]]
    assert (index["tags"], index["made"], index["link"]) == ([[place, "v2"]], "today", "https://x/")
    assert [(of["n"], of["m"], of["u"], len(of["tracks"])) for of in index["series"]] == [
        ("parse", "time", "s", 2), ("print", "time", "s", 2),
    ]  # fmt: skip


def track_of(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> Track:
    many = np.arange(values.size)
    return Track(0, "m", False, [Commit(str(i)) for i in many], many, values, low, high, many, many * 0)


def test_tracks_are_small_and_hold_what_there_is() -> None:
    """A thousand series of a thousand commits with their intervals take at most 20 MB: 20 kB each.

    A value without an interval has none there; commits without a value are left out: runs of places that follow
    each other, by their first and length.
    """
    values = np.random.default_rng(1).normal(0, 0.01, 1000)
    track = track_of(values, values - 0.01, values + 0.012)
    assert len(json.dumps(encode_track(track, track.order), separators=(",", ":"))) < 20_000
    values = np.linspace(0.0, 0.05, 6)
    low, high = values - 0.01, values + 0.01
    low[3] = high[3] = math.nan
    track = track_of(values, low, high)
    encoded = encode_track(track, track.order)
    assert (encoded["q"], encoded["o"]) == (1.71e-5, pytest.approx(0.025)), (
        "of 0.07 in 4096 steps, about the middle"
    )
    assert encoded["v"] == [round(x / 1.71e-5) for x in (-0.025, -0.015, -0.005, 0.005, 0.015, 0.025)]
    assert encode_track(track_of(10 * values, 10 * low, 10 * high), track.order)["q"] == 1e-4
    for which in "lh":
        assert [(i, steps) for i, steps in enumerate(encoded[which]) if steps < 0] == [(3, -1)]
    none, at = np.zeros(6), np.array([0, 1, 4, 5, 6, 9])
    track = Track(0, "m", False, [Commit(str(i)) for i in range(10)], at, none, none, none, at, at * 0)
    encoded = encode_track(track, track.order)
    assert (encoded["k"], encoded["q"], encoded["v"]) == ([[0, 2], [4, 3], [9, 1]], 1e-4, [0] * 6)


def test_a_branch_stands_beside_where_it_left(tmp_path: Path) -> None:
    """Only its own commits are drawn again, one after another behind the last common one."""
    main = history(("parse",))
    own = (*main.commits[:50], Commit("f1"), Commit("f2"))
    rows = [MeasuredCommit(0, i, 0, commit, False, 0.01, i) for i, commit in enumerate(own)]
    tracks = tracks_of(measurements(rows), own, {0: "m"})
    branch = HistoryResult("s.db", 0.95, own, main.series, tracks, (), (), None)
    write_site([main], tmp_path / "site", made="today", branches={"feature": branch})
    _, track = told(tmp_path / "site" / "data" / "0.js")
    assert (track["br"], track["k"], track["cm"]) == ("feature", [[50, 2]], {"50": "f1", "51": "f2"})


def test_nobodys_files_are_written_over(tmp_path: Path) -> None:
    """A folder with other files is refused; one with pages is written anew, without what is no longer there."""
    (tmp_path / "notes.txt").write_text("mine")
    for place, told in ((tmp_path, "other files"), (tmp_path / "notes.txt", "is a file")):
        with pytest.raises(UsageError, match=told):
            write_site([history()], place, made="today")
    write_site([history(("a", "b", "c"))], tmp_path / "site", made="today")
    write_site([history(("a",))], tmp_path / "site", made="today")
    assert sorted(p.name for p in (tmp_path / "site" / "data").iterdir()) == ["0.js", "index.js"]


@pytest.mark.parametrize(("remote", "address"), [
    ("https://user:secret@github.com/a/b.git", "https://github.com/a/b/commit/"),
    ("git@gitlab.com:a/b/c.git", "https://gitlab.com/a/b/c/-/commit/"),
    ("ssh://git@codeberg.org:22/a/b", "https://codeberg.org/a/b/commit/"), ("/srv/git/b", ""),
    ('https://github.com/a/b"onmouseover=x', ""),
])  # fmt: skip
def test_links_to_commits_hold_no_secret(remote: str, address: str, tmp_path: Path) -> None:
    """From the remote's address, without the name and the password that it may hold."""
    for words in (["init", "-q", "."], ["remote", "add", "origin", remote]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    assert commit_address(str(tmp_path)) == address


@pytest.mark.slow
def test_in_a_browser(browser: Any, tmp_path: Path) -> None:
    """Overview, filter, chart, keys, permalinks work from a file; hostile names stay text; no error, no alert."""
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait

    def find(selector: str) -> Any:
        return WebDriverWait(browser, 20).until(lambda d: d.find_element(By.CSS_SELECTOR, selector))

    def address() -> str:
        return str(browser.execute_script("return location.hash"))

    write_site(
        [history()], tmp_path / "site", made="today", link="https://example.org/commit/",
        tags={f"{9:040x}": "v1"},
    )  # fmt: skip
    page = (tmp_path / "site" / "index.html").as_uri()
    browser.get(page)
    assert find("h1").text == "1 change in 2 benchmarks over 60 commits"
    names = [a.text for a in browser.find_elements(By.CSS_SELECTOR, "tbody td.name a")]
    assert sorted(names) == sorted(["parse", "parse", HOSTILE])
    find("body").send_keys("/")
    find("#filter").send_keys("PAR")
    assert [a.text for a in browser.find_elements(By.CSS_SELECTOR, "tbody td.name a")] == ["parse", "parse"]
    assert "q=PAR" in address()
    find("#filter").send_keys(Keys.ESCAPE)
    find("tbody td.name a").click()
    find("#chart canvas")
    WebDriverWait(browser, 20).until(lambda d: "c=" in address())  # the change's own commit is chosen
    chart = find("#chart")
    chart.send_keys(Keys.HOME)
    assert find("#at").text.startswith("0" * 40) or "Change 0 " in find("#at").text
    chart.send_keys(Keys.ARROW_RIGHT)
    assert f"c={1:040x}" in address()
    chart.send_keys("+")
    WebDriverWait(browser, 20).until(lambda d: "x=" in address())
    chosen = address()
    browser.get("about:blank")
    browser.get(page + chosen)  # a permalink
    find("#chart canvas")
    WebDriverWait(browser, 20).until(lambda d: "Change 1 " in d.find_element(By.ID, "at").text)
    assert find("#at a").get_attribute("href") == f"https://example.org/commit/{1:040x}"
    drawn = browser.execute_script(
        "const c = document.querySelector('#chart canvas');"
        "const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        "let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n"
    )
    assert drawn > 2000
    find("#theme").click()
    assert browser.execute_script("return document.documentElement.dataset.theme") in {"light", "dark"}
    browser.set_window_size(390, 800)
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    find("body").send_keys(Keys.ESCAPE)
    WebDriverWait(browser, 20).until(lambda d: "b=" not in address())
    assert browser.execute_script("return document.querySelectorAll('main img, main script').length") == 0
    browser.set_window_size(1280, 900)
    assert browser.execute("getLog", {"type": "browser"})["value"] == []


@pytest.mark.slow
def test_a_commit_is_one_row(browser: Any, tmp_path: Path) -> None:
    """It opens to its benchmarks, stands above what is settled, and metrics that do not decide stand apart."""
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import Select, WebDriverWait

    found = history(("a", "b", "c"), slower=2)
    settled = replace(found.commits[STEP], author="Ann")
    changes = tuple(replace(change, commit=settled, undone=found.commits[50]) for change in found.changes)
    later = tuple(replace(change, commit=found.commits[STEP - 1]) for change in changes[:1])
    said = Triage(found.commits[STEP - 1].sha, "", "assigned", "ann", "bob", "2026-02-03T00:00:00")
    counted = history(("d",))
    memory = {9: StoredSeries(9, Key("d", "instructions"), "", False)}
    tracks = tuple(replace(track, series=9) for track in counted.tracks)
    apart = replace(counted, series=memory, tracks=tracks, changes=find_history_changes(tracks))
    stands = tuple(replace(change, undone=None) for change in later)
    write_site(
        [replace(found, changes=changes + stands, decisions=(said,)), apart], tmp_path / "s", made="now"
    )
    browser.get((tmp_path / "s" / "index.html").as_uri())

    def rows(of: str = "table.commits tbody tr") -> list[str]:
        return [cell.text.replace("\n", " ") for cell in browser.find_elements(By.CSS_SELECTOR, of)]

    # The page draws them when it can.
    first, second, other = WebDriverWait(browser, 20).until(lambda _: rows())
    assert f"Change {STEP - 1} " in first
    assert "assigned: ann (bob, 2026-02-03)" in first
    assert "stands, ann on it" in first
    assert ("2 benchmarks" in second, second.endswith("undone")) == (True, True)
    assert "d (instructions)" in other
    browser.find_element(By.CSS_SELECTOR, "table.commits button").click()
    assert [row.split()[0] for row in rows()[2:4]] == ["a", "b"]
    Select(browser.find_element(By.CSS_SELECTOR, "select[aria-label=state]")).select_by_visible_text("undone")
    assert [row.split()[0] for row in rows()] == ["Change", "a", "b"]
    benchmarks = "table.benchmarks tbody td.name"
    browser.find_element(By.XPATH, "//th/button[.='changes']").click()
    assert rows(benchmarks)[:2] == ["a", "b"]
    browser.find_element(By.XPATH, "//th/button[.='benchmark']").click()
    assert rows(benchmarks) == sorted(rows(benchmarks))
    assert browser.execute("getLog", {"type": "browser"})["value"] == []


def test_projects_stand_below_one_page(tmp_path: Path) -> None:
    """A row each with a link to its own pages and what changed; names are text, and nobody's page is lost."""
    for name, slower in (("a & <b>", 1), ("quiet", 0)):
        write_site([history(slower=slower)], tmp_path / name, made=f"made {name}")
    assert write_projects(tmp_path) > 1000
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    rows = list(ElementTree.fromstring(text[text.index("<tbody>") : text.index("</table>")]))
    assert [row[0][0].text for row in rows] == ["a & <b>", "quiet"]
    assert [row[2].text for row in rows] == ["made a & <b>", "made quiet"]
    assert "1 change" in str(rows[0][1].text)
    assert "No change" in str(rows[1][1].text)
    for row in rows:
        assert (tmp_path / unquote(row[0][0].attrib["href"])).is_file()
    write_site([history()], tmp_path / "a & <b>", made="again")
    write_projects(tmp_path)
    (tmp_path / "index.html").write_text("mine")
    with pytest.raises(UsageError, match="other files"):
        write_projects(tmp_path)


def test_a_line_is_as_steep_as_its_benchmark() -> None:
    """From e^0.05 on a change fills the height; a fifth of that, a fifth of it, about the middle."""
    track: dict[str, Any] = {"b": "m", "a": 0, "o": 0.5, "q": 1e-4}
    for change, heights in ((5000, (0, 35)), (500, (0, 35)), (100, (14, 21)), (0, (18, 18))):
        line = encode_line(track | {"v": [900, 900 + change]})
        assert [int(digit, 36) for digit in line["p"]] == [*heights]
        assert line == {
            "b": "m",
            "a": 0,
            "c": 2,
            "last": float(f"{math.exp(0.59 + change * 1e-4):.6g}"),
            "p": line["p"],
        }
    assert encode_line(track | {"v": [0] * 39 + [400, 200] + [1000] * 39})["p"] == "0" * 19 + "7l" + "z" * 19
