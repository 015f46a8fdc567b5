"""Takes the pictures of the documentation in a browser, of the recorded example.

    python docs/pictures.py

It wants a browser and the packages of `make test`. Look at what it made before you commit it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Literal

import attrs
from playwright.sync_api import Browser

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "support"))

from browsers import launched  # noqa: E402

WIDTH = 1100


@attrs.frozen(kw_only=True)
class Picture:
    """A picture: of which page, from which element on, and how high."""

    name: str
    page: str
    top: str
    height: int
    scheme: Literal["light", "dark"] = "light"


PICTURES = (
    Picture(name="report", page="{report}", top="#score", height=900),
    Picture(name="story", page="{report}", top="article.story .turning", height=980),
    Picture(name="memory", page="{site}/memories/m1", top="body", height=800, scheme="dark"),
    Picture(name="serve", page="{site}/store?at=9", top="body", height=760),
)


def main() -> None:
    """Make the report, start the site, and take all pictures."""
    discernmem = str(Path(sys.executable).with_name("discernmem"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = [discernmem, "demo", "--recorded", "--folder", name]
        subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
        report = folder / "report.html"
        log = folder / "example.db"
        subprocess.run([discernmem, "report", str(log), "-o", str(report)], check=True)
        served = subprocess.Popen(
            [discernmem, "serve", str(log), "--port", "0"], stdout=subprocess.PIPE, text=True
        )
        try:
            assert served.stdout is not None
            address = next(part for part in served.stdout.readline().split() if "://" in part)
            pages = {"report": report.as_uri(), "site": f"{address}example/-"}
            with launched() as browser:
                for picture in PICTURES:
                    take(browser, picture, picture.page.format_map(pages))
        finally:
            served.terminate()
            served.wait()


def take(browser: Browser, picture: Picture, address: str) -> None:
    """Take one picture."""
    page = browser.new_page(
        viewport={"width": WIDTH, "height": picture.height}, color_scheme=picture.scheme
    )
    page.goto(address)
    page.locator(picture.top).first.evaluate("element => element.scrollIntoView()")
    page.wait_for_timeout(300)
    page.screenshot(path=HERE / "pictures" / f"{picture.name}.png")
    page.close()


if __name__ == "__main__":
    main()
