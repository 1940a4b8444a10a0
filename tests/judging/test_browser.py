"""The page in a real browser: three raters at once, a reload, a way back, and time without a network."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import uvicorn
from chromium import Axe, Browser, BrowserContext, Page, expect, open_browser
from studies import Make

from learnedgec.cli.server import listen
from learnedgec.judging.page import application
from learnedgec.judging.study import Study

Visit = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Return a function that serves a study and opens a page; errors and foreign requests fail."""
    contexts: list[BrowserContext] = []
    servers: dict[Study, tuple[str, uvicorn.Server, threading.Thread, Any]] = {}
    heard: list[str] = []

    def open_page(study: Study, rater: str = "rater-1", **settings: Any) -> Page:
        if study not in servers:
            listening = listen("127.0.0.1", 0)
            server = uvicorn.Server(uvicorn.Config(application(study), log_level="warning"))
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
            thread.start()
            address = f"http://127.0.0.1:{listening.getsockname()[1]}"
            servers[study] = address, server, thread, listening
        address = servers[study][0]
        context = browser.new_context(**settings)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: heard.append(f"error: {error}"))
        page.on(
            "request",
            lambda request: request.url.startswith((address, "data:")) or heard.append(request.url),
        )
        page.goto(f"{address}/{study.tokens[rater]}")
        # The heading of the item, which comes after the page, or that of the status.
        page.wait_for_selector("#item h2, #ranking")
        return page

    yield open_page
    for context in contexts:
        context.close()
    for _, server, thread, listening in servers.values():
        server.should_exit = True
        thread.join()
        listening.close()
    assert heard == []


def answer(page: Page, key: str = "1") -> None:
    """Press a key, and wait for the next item."""
    count = page.inner_text("#count")
    page.keyboard.press(key)
    expect(page.locator("#count")).not_to_have_text(count)


def test_three_raters_answer_sixty_items_at_once(make: Make, visit: Visit) -> None:
    study = make(raters=3, sentences=24, questions=45, overlap=0.2, repeats=0.2)
    assert study.settings.total >= 20
    pages = {rater: visit(study, rater) for rater in study.raters}
    for number in range(20):
        for page in pages.values():
            if number == 5 and page is pages["rater-1"]:
                page.reload()
                page.wait_for_selector(".answers")
            if number == 7 and page is pages["rater-2"]:
                # One goes back and changes an answer, and goes on.
                page.keyboard.press("z")
                expect(page.locator("#count")).to_contain_text("Item 7 of")
                expect(page.locator("button[aria-pressed=true]")).to_contain_text("better")
                answer(page, "0")
            if number == 9 and page is pages["rater-3"]:
                # One answers without a network, and comes back.
                page.context.set_offline(True)
                page.keyboard.press("1")
                expect(page.locator("#message")).to_contain_text("Not saved yet")
                assert Counter(j.rater for j in study.judgements())["rater-3"] == 9
                page.context.set_offline(False)
                expect(page.locator("#count")).to_contain_text("Item 11 of")
                continue
            answer(page, "120"[number % 3])
    judgements = study.judgements()
    assert Counter(each.rater for each in judgements) == dict.fromkeys(study.raters, 20)
    changed = [each for each in judgements if each.rater == "rater-2"]
    assert any(len(set(each.answer.ranks)) == 1 for each in changed)


def test_an_answer_given_without_a_network_survives_a_closed_page(make: Make, visit: Visit) -> None:
    study = make()
    page = visit(study)
    page.context.set_offline(True)
    page.keyboard.press("2")
    expect(page.locator("#message")).to_contain_text("Not saved yet")
    address = page.url
    page.close()
    assert study.judgements() == []
    page.context.set_offline(False)
    again = page.context.new_page()
    again.goto(address)
    expect(again.locator("#count")).to_contain_text("Item 2 of")
    assert len(study.judgements()) == 1


def test_two_windows_neither_lose_nor_double(make: Make, visit: Visit) -> None:
    study = make()
    one = visit(study)
    two = one.context.new_page()
    two.goto(one.url)
    two.wait_for_selector(".answers")
    answer(one, "1")
    two.keyboard.press("2")
    expect(two.locator("#message")).to_contain_text("answered in another window")
    expect(two.locator("#count")).to_contain_text("Item 2 of")
    assert len(study.judgements()) == 1


@pytest.mark.parametrize(
    ("task", "keys"),
    [("ranking", "1323"), ("ratings", "4321"), ("edits", "1")],
)
def test_every_task_by_keyboard_alone(make: Make, visit: Visit, task: str, keys: str) -> None:
    study = make(task=task, raters=1)
    page = visit(study)
    page.keyboard.press("Enter")
    expect(page.locator("#message")).to_contain_text("Something is not answered yet")
    parts = page.locator(".part").count()
    for key in keys[:parts]:
        page.keyboard.press(key)
    for _ in range(parts - len(keys)):
        page.keyboard.press("2")
    answer(page, "Enter")
    said = study.judgements()[0].answer
    assert said.ranks or said.values or said.edits
    if task == "ratings":
        assert list(said.values.values()) == [4, 3, 2]


def test_skip_and_comment(make: Make, visit: Visit) -> None:
    study = make()
    page = visit(study)
    page.click("text=Comment")
    page.fill("#comment", "Is this <b>one</b>?")
    page.keyboard.press("Escape")
    page.locator("h1").click()
    page.keyboard.press("s")
    page.keyboard.type("not a sentence")
    answer(page, "Enter")
    said = study.judgements()[0].answer
    assert (said.skip, said.comment) == ("not a sentence", "Is this <b>one</b>?")


def test_the_end_says_thank_you(make: Make, visit: Visit) -> None:
    study = make(raters=1, sentences=2, repeats=0)
    page = visit(study)
    answer(page)
    answer(page)
    expect(page.locator("h2")).to_contain_text(["Thank you"])
    page.reload()
    expect(page.locator("h2")).to_contain_text(["Thank you"])


@pytest.mark.parametrize("task", ["pairs", "ranking", "ratings", "edits"])
@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1280)])
def test_axe_finds_no_violation_and_nothing_is_wider_than_the_window(
    make: Make, visit: Visit, task: str, scheme: str, width: int
) -> None:
    study = make(task=task)
    page = visit(study, color_scheme=scheme, viewport={"width": width, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    if task != "edits":
        page.keyboard.press("c")
        expect(page.locator(".edit").first).to_be_visible()
    for summary in page.locator("summary").all():
        summary.click()
    violations = Axe().run(page).response["violations"]
    assert [(each["id"], each["nodes"][0]["target"]) for each in violations] == []


def test_the_owners_page_has_no_violation(make: Make, visit: Visit) -> None:
    study = make()
    page = visit(study)
    for _ in range(6):
        answer(page)
    status = visit(study, "owner", viewport={"width": 390, "height": 844})
    violations = Axe().run(status).response["violations"]
    assert [(each["id"], each["nodes"][0]["target"]) for each in violations] == []
    assert status.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_a_phone_hides_no_column_of_the_status(make: Make, visit: Visit) -> None:
    page = visit(make(), "owner", viewport={"width": 390, "height": 844})
    for cell in page.locator(".stacked td:not(:empty)").all():
        box = cell.bounding_box()
        assert box is not None
        assert 0 <= box["x"] <= box["x"] + box["width"] <= 390


def test_right_to_left_text(tmp_path: Any, visit: Visit) -> None:
    from learnedgec.judging.records import StudySettings

    systems = {"one": ["هو يذهب الى المدرسة"], "two": ["هو ذهب إلى المدرسة"]}
    settings = StudySettings(sentences=1, raters=1, order="random")
    study = Study.create(tmp_path / "study", ["هو ذهب الى المدرسه"], systems, settings=settings)
    page = visit(study)
    for node in page.locator(".reading").all():
        assert node.evaluate("node => getComputedStyle(node).direction") == "rtl"
