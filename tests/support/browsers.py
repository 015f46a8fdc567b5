"""The browser that pages are tested and pictured in.

As a program it says by its exit status whether there is one.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from playwright.sync_api import Browser, sync_playwright

NAMES: Final = ("chromium", "chromium-browser", "google-chrome")


def program() -> str | None:
    """The first of the browsers that is on the path."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def launched() -> Iterator[Browser]:
    """That browser, running."""
    # The sandbox of a browser wants a user who is not root.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=program(), args=arguments) as browser,
    ):
        yield browser


if __name__ == "__main__":
    sys.exit(program() is None)
