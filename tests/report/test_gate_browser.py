"""The gate's page in a real browser: what its script does with rows that carry outcomes instead of verdicts."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from speedproof.cli.console import Console
from speedproof.cli.main import main

CHROMIUM, DRIVER = Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM.exists() and DRIVER.exists()), reason="needs chromium and chromium-driver"
)


@pytest.fixture(scope="module")
def chromium() -> Iterator[webdriver.Chrome]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = str(CHROMIUM)
        flags = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking")
        for flag in (*flags, "--no-first-run", f"--user-data-dir={profile}", "--window-size=1280,900"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(str(DRIVER)))
        yield driver
        driver.quit()


def rows(driver: webdriver.Chrome) -> list[str]:
    """Names of the benchmarks that are shown, in order."""
    found: list[str] = driver.execute_script(
        "return [...document.querySelectorAll('tr[data-row]')].filter(r => r.offsetParent !== null)"
        ".map(r => r.cells[0].dataset.k)"
    )
    return found


def test_filter_sort_and_panels(chromium: webdriver.Chrome, tmp_path: Path) -> None:
    """By outcome and by p-value; a panel says what is proven; nothing overflows; the browser has no complaint."""
    rng = np.random.default_rng(3)
    noises = {"slow": 0.01, "noisy": 0.4, "same": 0.01}
    for version, factor in (("old", 1.0), ("new", 1.3)):
        lines = [
            f"{name},{(factor if name == 'slow' else 1.0) * value!r}"
            for name, noise in noises.items()
            for value in rng.uniform(1 - noise, 1 + noise, 30).tolist()
        ]
        (tmp_path / f"{version}.csv").write_text("\n".join(["benchmark,value", *lines]), encoding="utf-8")
    page = tmp_path / "g.html"
    files = ["--baseline", str(tmp_path / "old.csv"), "--candidate", str(tmp_path / "new.csv")]
    assert main(["gate", *files, "--html", str(page)], Console(io.StringIO(), io.StringIO())) == 1
    chromium.get(page.as_uri())
    assert rows(chromium) == ["slow", "noisy", "same"]
    outcome = Select(chromium.find_element(By.CSS_SELECTOR, "[data-filter=verdict]"))
    assert [option.text for option in outcome.options] == ["any", "fail", "undecided", "pass"]
    for word, name in (("fail", "slow"), ("undecided", "noisy"), ("pass", "same")):
        outcome.select_by_visible_text(word)
        assert rows(chromium) == [name]
    outcome.select_by_visible_text("any")
    button = chromium.find_element(By.XPATH, "//thead//button[normalize-space()='p']")
    button.click()
    button.click()
    assert rows(chromium) == ["same", "noisy", "slow"]
    chromium.find_element(By.CSS_SELECTOR, "[data-open=all]").click()
    panels = {
        panel.find_element(By.CSS_SELECTOR, ".badge").text: panel
        for panel in chromium.find_elements(By.CSS_SELECTOR, "tr.panel")
    }
    assert set(panels) == {"fail", "undecided", "pass"}
    assert "A regression beyond the margin is proven: speedup < 0.9804" in panels["fail"].text
    assert all(len(panel.find_elements(By.CSS_SELECTOR, "svg.chart")) == 3 for panel in panels.values())
    for width in (400, 1280):
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        wider = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert chromium.execute_script(wider) <= 0
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert chromium.execute("getLog", {"type": "browser"})["value"] == []
