"""The page in a real browser: chromium, driven as a user would drive it."""

import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from selenium import webdriver
from selenium.common.exceptions import NoAlertPresentException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait
from tests.reporting.test_html import html_report

from speedproof.conclude.suite import SuiteComparison
from speedproof.data.names import visible
from speedproof.data.suite import Key, Suite
from speedproof.protocols.results import Verdict
from speedproof.reporting import sheet
from speedproof.reporting.formats.html import panels, render
from speedproof.reporting.model import Column, Report, Row, Table, Text
from speedproof.reporting.stored import Context

Made = tuple[SuiteComparison, Suite]


def _log(driver: webdriver.Chrome, kind: str) -> list[dict[str, Any]]:
    """What the browser has written to one of its logs since the last look."""
    found: list[dict[str, Any]] = driver.execute("getLog", {"type": kind})["value"]
    return found


@contextmanager
def window(driver: webdriver.Chrome, width: int) -> Iterator[None]:
    """The page in a window, or on a phone, of this width."""
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        yield
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


Opener = Callable[[Made], webdriver.Chrome]


@pytest.fixture
def open_page(browser: webdriver.Chrome, tmp_path: Path) -> Iterator[Opener]:
    """Open a report; at the end there was no error and no request but for the file itself."""
    page = tmp_path / "report.html"

    def open_report(made: Made) -> webdriver.Chrome:
        page.write_text(html_report(made, Context("speedproof compare", {"speedproof": "1"})), "utf-8")
        browser.get(page.as_uri())
        # Under load the driver may come back while the page is still read.
        complete = "return document.readyState === 'complete'"
        WebDriverWait(browser, 60).until(lambda driver: driver.execute_script(complete))
        return browser

    _log(browser, "browser")
    _log(browser, "performance")
    yield open_report
    assert _log(browser, "browser") == []
    requests = {
        message["params"]["request"]["url"]
        for entry in _log(browser, "performance")
        if (message := json.loads(entry["message"])["message"])["method"] == "Network.requestWillBeSent"
        and message["params"]["documentURL"] == page.as_uri()
    }
    assert requests <= {page.as_uri()}


def rows(driver: webdriver.Chrome) -> list[str]:
    found: list[str] = driver.execute_script(
        "return [...document.querySelectorAll('tr[data-panel]')].filter(r => r.offsetParent !== null)"
        ".map(r => r.dataset.name)"
    )
    return found


def button(driver: webdriver.Chrome, text: str) -> WebElement:
    return driver.find_element(By.XPATH, f"//button[normalize-space()='{text}']")


def open_all(driver: webdriver.Chrome) -> None:
    driver.find_element(By.CSS_SELECTOR, "[data-open=all]").click()


@pytest.mark.slow
def test_sorting_and_filtering(open_page: Opener, mixed: Made) -> None:
    """A click on a column sorts by it, a second one the other way; aria-sort says so; unknown values stay last.

    Filters are part of a name and the verdict; the count is announced.
    """
    driver = open_page(mixed)
    order = [(row.name, row.kind) for row in sheet.report(mixed[0]).tables[-1].rows]
    kind = Select(driver.find_element(By.CSS_SELECTOR, "[data-filter=kind]"))
    for wanted in dict(order).values():
        kind.select_by_value(wanted)
        assert rows(driver) == [name for name, own in order if own == wanted]
    kind.select_by_visible_text(f"all {len(order)}")
    speedups = {c.benchmark: c.speedup.value for c in mixed[0].headlines}
    known = [name for name, value in speedups.items() if value == value]
    for direction, sign in (("descending", -1), ("ascending", 1)):
        button(driver, "change").click()
        shown = rows(driver)
        assert set(shown) == set(speedups)
        values = [speedups[name] for name in shown if name in known]
        assert values == sorted(values, key=lambda v: sign * v)
        sorted_by = driver.find_elements(By.CSS_SELECTOR, "th[aria-sort]:not([aria-sort=none])")
        assert [th.get_attribute("aria-sort") for th in sorted_by] == [direction]
    button(driver, "name").click()
    assert rows(driver) == sorted(speedups)
    driver.find_element(By.CSS_SELECTOR, "[data-filter=name]").send_keys("AI")
    assert rows(driver) == ["gain"]
    status = driver.find_element(By.CSS_SELECTOR, "[aria-live=polite]")
    assert status.text == f"1 of {len(order)} rows shown"


@pytest.mark.slow
def test_panels_by_keyboard(open_page: Opener, mixed: Made) -> None:
    """Tab reaches every control in order, Enter opens a panel, its charts have text, Enter closes it."""
    driver = open_page(mixed)
    target = button(driver, "gain")
    for _ in range(40):
        driver.switch_to.active_element.send_keys(Keys.TAB)
        if driver.switch_to.active_element == target:
            break
    assert driver.switch_to.active_element == target
    outline = driver.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    target.send_keys(Keys.ENTER)
    assert target.get_attribute("aria-expanded") == "true"
    panel = driver.find_element(By.ID, str(target.get_attribute("aria-controls")))
    assert panel.is_displayed()
    *charts, deciles = (
        str(c.get_attribute("aria-label")) for c in panel.find_elements(By.CSS_SELECTOR, "svg.chart")
    )
    assert "at each decile" in deciles
    assert len(charts) == 3
    assert all("40 values of old: median 1.99" in c and "40 values of new: median 1" in c for c in charts)
    assert "normality of old" in panel.text
    target.send_keys(Keys.ENTER)
    assert not panel.is_displayed()


def test_every_panel_draws_every_value(open_page: Opener, mixed: Made) -> None:
    """Ties, zeros, one value, a constant: as many marks as values, and no coordinate that is not a number."""
    driver = open_page(mixed)
    open_all(driver)
    driver.execute_script("dispatchEvent(new Event('beforeprint'))")  # which draws all of them
    drawn: list[list[int]] = driver.execute_script(
        "return [...document.querySelectorAll('tr.panel')].map(p => [...p.querySelectorAll('svg.chart g path')]"
        ".map(path => path.getAttribute('d').split('M').length - 1))"
    )
    samples = mixed[1].samples
    assert drawn == [2 * [samples[Key(name), v].n for v in ("old", "new")] for name in rows(driver)]
    assert "NaN" not in driver.find_element(By.TAG_NAME, "main").text


@pytest.mark.slow
def test_copy_as_markdown(open_page: Opener, mixed: Made) -> None:
    """What is shown, a line a row, as the table of a comment; bars in a text do not end its cell."""
    driver = open_page(mixed)
    Select(driver.find_element(By.CSS_SELECTOR, "[data-filter=kind]")).select_by_value("faster")
    driver.execute_script(
        "Object.defineProperty(navigator, 'clipboard', {value: {writeText: t => window.copied = t}})"
    )
    driver.find_element(By.CSS_SELECTOR, "[data-copy]").click()
    table = sheet.report(mixed[0]).tables[-1]
    faster = [row for row in table.rows if row.kind == "faster"]
    head, rule, *lines = driver.execute_script("return window.copied").splitlines()
    assert [cell.strip() for cell in head.strip("|").split(" | ")][1:3] == ["old", "new"]
    assert set(rule) <= set("|-: ")
    assert len(lines) == len(faster)
    for row, line in zip(faster, lines, strict=True):
        assert [c.strip() for c in line[1:-1].split(" | ")] == [cell.text for cell in row.cells]


@pytest.mark.slow
def test_hostile_names_do_nothing(open_page: Opener, hostile: Made) -> None:
    """No script of a name runs, in the table or in a panel; the name is shown letter by letter."""
    driver = open_page(hostile)
    open_all(driver)
    # Panels are drawn when the browser has time for them.
    legend = WebDriverWait(driver, 20).until(lambda d: d.find_element(By.CSS_SELECTOR, ".legend"))
    with pytest.raises(NoAlertPresentException):
        _ = driver.switch_to.alert
    assert set(rows(driver)) == set(map(visible, hostile[0].benchmarks))
    assert driver.find_elements(By.CSS_SELECTOR, "main img, main script, main b b") == []
    assert "<b>old</b>|\\x" in driver.find_element(By.CSS_SELECTOR, "dl").text
    assert "</title><script>alert(3)</script>" in legend.text


def test_policy_stops_what_gets_in(browser: webdriver.Chrome, mixed: Made, tmp_path: Path) -> None:
    """Even markup that got into the page could neither run nor load: the browser enforces the policy."""
    page = html_report(mixed).replace(
        "</main>",
        "<script>window.ran = 1</script><img src='http://127.0.0.1:9/x.png' onerror='window.ran = 2'></main>",
    )
    (tmp_path / "a.html").write_text(page, encoding="utf-8")
    browser.get((tmp_path / "a.html").as_uri())
    assert browser.execute_script("return window.ran === undefined")
    messages = [entry["message"] for entry in _log(browser, "browser")]
    assert sum("Content Security Policy" in m for m in messages) >= 2
    _log(browser, "performance")


@pytest.mark.slow
def test_a_thousand_benchmarks(open_page: Opener, thousand: Made) -> None:
    """The undecided are counted until they are asked for; filter and sort work on all rows; a link opens one."""
    driver = open_page(thousand)
    undecided = {c.benchmark for c in thousand[0].headlines if c.verdict is Verdict.UNDECIDED}
    decided, name = rows(driver), min(undecided)
    assert undecided.isdisjoint(decided)
    driver.execute_script("location.hash = encodeURIComponent(arguments[0])", name)
    WebDriverWait(driver, 20).until(lambda d: name in rows(d))
    opened = driver.find_element(By.CSS_SELECTOR, f"tr[data-name='{name}'] .open")
    assert opened.get_attribute("aria-expanded") == "true"
    opened.click()
    assert "#" not in driver.current_url
    opened.click()
    assert driver.current_url.endswith(f"#{quote(name, safe='')}")
    driver.get(driver.current_url.partition("#")[0])
    more = driver.find_element(By.CSS_SELECTOR, "[data-all]")
    assert more.text == f"Show {len(undecided)} undecided"
    more.click()
    everything = rows(driver)
    assert len(decided) + len(undecided) == len(set(everything)) == 1000
    box = driver.find_element(By.CSS_SELECTOR, "[data-filter=name]")
    box.send_keys("group-07")
    assert rows(driver) == [name for name in everything if "group-07" in name]
    box.send_keys(Keys.CONTROL + "a", Keys.DELETE)
    assert rows(driver) == everything
    driver.execute_script("[...document.querySelectorAll('[data-sort]')].pop().click()")
    assert sorted(rows(driver)) == sorted(everything)


@pytest.mark.slow
@pytest.mark.parametrize("width", [400, 1280])
def test_the_header_stays(open_page: Opener, thousand: Made, width: int) -> None:
    """However far the rows are scrolled, their titles are at the top of the window, and a linked row is below."""
    driver = open_page(thousand)
    with window(driver, width):
        name = rows(driver)[-1]
        driver.execute_script("location.hash = encodeURIComponent(arguments[0])", name)
        opened = driver.find_element(By.CSS_SELECTOR, f"tr[data-name='{name}'] .open")
        WebDriverWait(driver, 20).until(lambda _: opened.get_attribute("aria-expanded") == "true")
        top, bottom, row = driver.execute_script(
            "const a = arguments[0].closest('table').tHead, sticky = getComputedStyle(a).position === 'sticky';"
            "const h = (sticky ? a : a.rows[0].cells[0]).getBoundingClientRect();"
            "return [h.top, h.bottom, arguments[0].getBoundingClientRect().top]",
            opened,
        )
        assert abs(top) < 2
        assert bottom <= row


@pytest.mark.slow
@pytest.mark.parametrize("width", [400, 1280, 3840])
def test_fits_any_width(open_page: Opener, mixed: Made, width: int) -> None:
    driver = open_page(mixed)
    with window(driver, width):
        open_all(driver)
        assert driver.execute_script(
            "const e = document.documentElement; return e.scrollWidth <= e.clientWidth"
        )


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(open_page: Opener, mixed: Made, scheme: str) -> None:
    """Every text has the contrast that WCAG 2.1 AA asks for: 4.5 to 1 against what is behind it."""
    driver = open_page(mixed)
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    driver.find_element(By.CSS_SELECTOR, ".open").click()
    poor = driver.execute_script(
        """
        const numbers = (c) => c.match(/[0-9.]+/g).map(Number);
        const linear = (v) => v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4;
        const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
        const behind = (e) => {
          for (; e; e = e.parentElement) {
            const c = numbers(getComputedStyle(e).backgroundColor);
            if (c.length < 4 || c[3] > 0) return c;
          }
          return [255, 255, 255];
        };
        const found = [];
        const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
          const e = walker.currentNode.parentElement, text = walker.currentNode.textContent.trim();
          if (!text || e.closest('noscript, .sr')) continue;
          const style = getComputedStyle(e), ink = numbers(e.closest('svg') ? style.fill : style.color);
          const [a, b] = [light(ink), light(behind(e))].sort((x, y) => y - x);
          if ((a + 0.05) / (b + 0.05) < 4.5) found.push([text, (a + 0.05) / (b + 0.05)]);
        }
        return found;
        """
    )
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert poor == []


LABELS = """
return [...document.querySelectorAll('.ticks')].map(axis => [...axis.querySelectorAll('text')]
  .filter(t => t.textContent)
  .map(t => [t.getBoundingClientRect().left, t.getBoundingClientRect().right, t.textContent]));
"""


@pytest.mark.slow
def test_labels_of_an_axis_at_any_width(open_page: Opener, make_suite: Callable[..., Made]) -> None:
    """As the browser sets them they stay apart by more than a space, and there are several."""
    x = np.linspace(1, 1.001, 12)
    for factors in ((0.95, 1.05), (0.9961, 1.0), (0.02, 30.0)):
        driver = open_page(make_suite({f"b{f}": (x, x / f) for f in factors}))
        for width in (360, 480, 620, 761, 800, 900, 1024, 1151, 1280, 1600, 2560):
            with window(driver, width):
                labels = driver.execute_script(LABELS)[0]
            assert all(b[0] - a[1] > 2 for a, b in itertools.pairwise(labels)), (width, labels)
            assert "1" in [text for _, _, text in labels]
            assert len(labels) > 1


@pytest.mark.slow
def test_a_row_without_a_panel_stops_no_chart(browser: webdriver.Chrome, tmp_path: Path, mixed: Made) -> None:
    """Among several versions the reference has none: the runs of all others are still drawn."""
    result, suite = mixed
    first, *others = (row.name for row in sheet.report(result).tables[-1].rows)
    known = {name: panel for name, panel in panels(result, suite).items() if name != first}
    page = tmp_path / "report.html"
    page.write_text(render(sheet.report(result), panels=[known], suite=suite), encoding="utf-8")
    browser.get(page.as_uri())
    drawn = "return [...document.querySelectorAll('tr:has(.c-strip svg)')].map(r => r.dataset.name)"
    WebDriverWait(browser, 20).until(lambda driver: set(driver.execute_script(drawn)) == set(others))


@pytest.mark.slow
def test_a_table_without_drawings_fits_a_phone(browser: webdriver.Chrome, tmp_path: Path) -> None:
    """Nothing in it scrolls sideways, however many columns and whatever long words it has."""
    columns = Column("place"), Column("version", names=True), *map(Column, ("modes", "fit", "order"))
    cells = ("1-2", "a_name_of_a_benchmark" * 3, "9.995 ms 48 %, " * 4, "not rejected", "13.37 ms, " * 9)
    page = tmp_path / "report.html"
    page.write_text(render(Report("", (Text("2"),), (Table.of(columns, [Row.of(*cells)] * 2),))), "utf-8")
    with window(browser, 400):
        browser.get(page.as_uri())
        wide = "return [...document.querySelectorAll('html, .wide')].map(e => e.scrollWidth - e.clientWidth)"
        assert max(browser.execute_script(wide)) <= 0
