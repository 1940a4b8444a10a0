"""The page /docs of the service in a real browser, without another host."""

from __future__ import annotations

import json
import threading

import uvicorn
from chromium import expect, open_browser

from learnedgec.applications.serve import application
from learnedgec.cli.server import listen


def test_the_example_of_the_documentation_runs_as_it_stands() -> None:
    heard: list[str] = []
    with listen("127.0.0.1", 0) as listening, open_browser() as browser:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        app = application(["gleu", "length"])
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            page = browser.new_page()
            page.set_default_timeout(20_000)
            page.on("pageerror", lambda error: heard.append(f"error: {error}"))
            page.on(
                "request",
                lambda sent: sent.url.startswith((address, "data:")) or heard.append(sent.url),
            )
            page.goto(f"{address}/docs")
            page.locator("#operations-default-score_score_post .opblock-summary").click()
            page.get_by_role("button", name="Try it out").click()
            page.get_by_role("button", name="Execute").click()
            live = page.locator(".live-responses-table .response").first
            expect(live.locator(".response-col_status")).to_contain_text("200")
            answer = json.loads(live.locator("pre.microlight").first.inner_text())
            assert answer["scores"]["gleu"]["score"] == 1
            assert answer["scores"]["length"]["score"] == 4
        finally:
            server.should_exit = True
            thread.join()
    assert heard == []
