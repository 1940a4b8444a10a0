"""Chromium, driven by Playwright: a module that imports this is skipped where it is absent.

`make test-browser` sets LEARNEDGEC_BROWSER=insist, with which it fails instead.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_PATH = next(filter(None, map(shutil.which, _PROGRAMS)), None)
_FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
try:
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

    if _PATH is None:
        raise ImportError("no Chromium was found; scripts/install_browser installs it")
except ImportError as error:
    if os.environ.get("LEARNEDGEC_BROWSER") == "insist":
        raise
    pytest.skip(f"the extra `browser`: {error}", allow_module_level=True)

__all__ = ["Axe", "Browser", "BrowserContext", "Page", "expect", "open_browser"]


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Yield a browser, which is closed at the end."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_PATH, args=_FLAGS)
        yield browser
        browser.close()
