"""Make pictures of the HTML report in a real browser, to be looked at: light, dark, narrow, and on paper.

``python docs/screenshots.py report.html FOLDER`` needs chromium, chromedriver and selenium.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.common.by import By

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


def main(page: str, folder: str) -> None:
    """Every picture of one page."""
    to = Path(folder)
    to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as profile:
        driver = browser(profile)
        try:
            driver.get(Path(page).resolve().as_uri())
            opener = driver.find_elements(By.CSS_SELECTOR, ".open[aria-expanded='false']")
            if opener:
                opener[min(1, len(opener) - 1)].click()
            shoot(driver, to / "light.png", 1280, "light", 1500)
            shoot(driver, to / "dark.png", 1280, "dark", 1500)
            shoot(driver, to / "narrow.png", 400, "light", 4200)
            shoot(driver, to / "wide.png", 3840, "light", 2160)
            driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
            paper = driver.execute_cdp_cmd(
                "Page.printToPDF", {"printBackground": True, "preferCSSPageSize": True}
            )
            (to / "paper.pdf").write_bytes(base64.b64decode(paper["data"]))
        finally:
            driver.quit()


if __name__ == "__main__":
    main(*sys.argv[1:3])
