"""Make pictures of the HTML report and of a pull request's comment in a real browser.

``python docs/screenshots.py [report] [comment]`` makes those of the manual from the example measurements. With a
page and a folder it makes those of any report, to be looked at: light, dark, narrow, wide and on paper. It needs
chromium, chromedriver, selenium and markdown-it-py.
"""

from __future__ import annotations

import base64
import os
import sys
import tempfile
from pathlib import Path

from markdown_it import MarkdownIt
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
    whole = driver.execute_script("return document.documentElement.getBoundingClientRect().height")
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


# A comment in GitHub's light theme, as wide as there.
COMMENT = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; padding: 12px; background: #fff; color: #1f2328; font: 14px/1.5 "DejaVu Sans", sans-serif; }}
.box {{ border: 1px solid #d1d9e0; border-radius: 6px; }}
.head {{ background: #f6f8fa; border-bottom: 1px solid #d1d9e0; border-radius: 6px 6px 0 0; padding: 8px 16px; }}
.head span {{ border: 1px solid #d1d9e0; border-radius: 2em; padding: 0 7px; font-size: 12px; color: #59636e; }}
.body {{ padding: 16px; }} h3 {{ margin: 0 0 16px; font-size: 18px; }} p {{ margin: 0 0 16px; }}
table {{ border-collapse: collapse; margin-bottom: 16px; }}
th, td {{ border: 1px solid #d1d9e0; padding: 6px 13px; }}
tr:nth-child(2n) {{ background: #f6f8fa; }} details {{ margin-bottom: 16px; }} sub {{ font-size: 11px; }}
code {{ background: #818b981f; border-radius: 6px; padding: 2px 5px; font: 85% "DejaVu Sans Mono", monospace; }}
</style><div class="box"><div class="head"><b>github-actions</b> <span>bot</span> commented</div>
<div class="body">{}</div></div>"""


def comment(picture: Path) -> None:
    """The comment that the action writes on a pull request, as it looks on GitHub."""
    with tempfile.TemporaryDirectory() as made:
        text, page = Path(made, "gate.md"), Path(made, "comment.html")
        versions = [f"examples/gzip/session.jsonl:{version}" for version in ("level-5", "level-6")]
        speedproof(["gate", *versions, "--metric", "time", "--margin", "5%", "--markdown", str(text)])
        markdown = text.read_text(encoding="utf-8").replace(str(text), "gate.md")
        body = MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown)
        for mark, colour in (
            ("🔴", "#d1242f"),
            ("🟡", "#bf8700"),
            ("🟢", "#1a7f37"),
        ):  # few machines have the font
            body = body.replace(mark, f'<span style="color: {colour}">●</span>')
        page.write_text(COMMENT.format(body), encoding="utf-8")
        driver = browser(str(Path(made, "profile")))
        try:
            driver.get(page.as_uri())
            shoot(driver, picture, 920, "light")
        finally:
            driver.quit()


def report(folder: Path) -> None:
    """The page of a comparison, light and dark."""
    with tempfile.TemporaryDirectory() as made:
        example = Path(made, "report.html")
        files = ["examples/gcc/O2.json", "examples/gcc/O3.json"]
        if speedproof(["compare", *files, "--html", str(example)]) == 0:
            main(example, folder, everything=False)


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["report", "comment"]
    if {*wanted} <= {"report", "comment"}:
        pictures = Path(__file__).with_name("pictures").resolve()
        os.chdir(pictures.parents[1])  # so that the command in the page names no folder of this machine
        if "report" in wanted:
            report(pictures)
        if "comment" in wanted:
            comment(pictures / "comment.png")
    else:
        main(Path(sys.argv[1]), Path(sys.argv[2]), everything=True)
