"""Make pictures of the HTML report in a real browser.

``python docs/screenshots.py`` makes those of the manual from the example measurements. With a page and a folder
it makes those of any report, to be looked at: light, dark, narrow, wide and on paper. It needs chromium,
chromedriver and selenium.
"""

from __future__ import annotations

import base64
import os
import sys
import tempfile
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.common.by import By

from speedproof.cli.main import main as speedproof

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


def browser(profile: str) -> webdriver.Chrome:
    """A fresh chromium."""
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    return webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))


def shoot(driver: webdriver.Chrome, path: Path, width: int, scheme: str, height: int = 0) -> None:
    """One picture of the whole page, or of its upper part."""
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    whole = driver.execute_script("return document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": width, "height": min(height or whole, whole), "scale": 1}
    shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
    path.write_bytes(base64.b64decode(shot["data"]))


def main(page: Path, folder: Path, *, everything: bool) -> None:
    """The pictures of one page, with its second panel open."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as profile:
        driver = browser(profile)
        try:
            driver.get(page.resolve().as_uri())
            closed = driver.find_elements(By.CSS_SELECTOR, ".open[aria-expanded='false']")
            if closed:
                closed[min(1, len(closed) - 1)].click()
            shoot(driver, folder / "report.png", 1280, "light", 1420)
            shoot(driver, folder / "report-dark.png", 1280, "dark", 1420)
            if everything:
                shoot(driver, folder / "narrow.png", 400, "light", 4200)
                shoot(driver, folder / "wide.png", 3840, "light", 2160)
                driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
                paper = driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
                (folder / "paper.pdf").write_bytes(base64.b64decode(paper["data"]))
        finally:
            driver.quit()


if __name__ == "__main__":
    if len(sys.argv) == 3:
        main(Path(sys.argv[1]), Path(sys.argv[2]), everything=True)
    else:
        here = Path(__file__).parent
        os.chdir(here.parent)  # so that the command in the page names no folder of this machine
        with tempfile.TemporaryDirectory() as made:
            example = Path(made) / "report.html"
            if (
                speedproof(
                    ["compare", "examples/gcc/O2.json", "examples/gcc/O3.json", "--html", str(example)]
                )
                == 0
            ):
                main(example, here / "pictures", everything=False)
