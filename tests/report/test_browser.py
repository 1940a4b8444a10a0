"""The report in a real browser: Chromium, driven by Playwright, without a network."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chromium import Axe, Browser, Page, expect, open_browser
from scipy.stats import rankdata

from learnedgec.cli.main import main
from learnedgec.report.page import write_report
from learnedgec.types import Floats

SECTIONS = ("overview", "sentences", "errors", "effects", "provenance")
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def address(case: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_report(path, case.report)
    return path.as_uri()


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Open]:
    """Return a function that opens the report; whatever is requested or complained about fails the test."""
    contexts: list[Any] = []
    heard: list[str] = []

    def open_page(place: str = "", **settings: Any) -> Page:
        context = browser.new_context(offline=True, **settings)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: heard.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: heard.append(f"error: {error}"))
        page.on(
            "request",
            lambda request: (
                request.url.startswith((address, "blob:"))
                or heard.append(f"request: {request.url}")
            ),
        )
        page.goto(address + place)
        if settings.get("java_script_enabled", True):
            page.wait_for_selector("html[data-ready]", state="attached")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert heard == []


def shown(page: Page) -> list[int]:
    """Return the numbers of the first sentences in the list, from 0."""
    return page.eval_on_selector_all(
        ".row", "rows => rows.map(row => Number(row.dataset.sentence))"
    )


def counted(page: Page) -> int:
    """Return how many sentences the filters leave."""
    return int(page.inner_text(".status").split()[0])


def percentile(scores: Floats) -> Floats:
    """Return each score's percentile among all; equal scores share the mean rank."""
    ranks = rankdata(scores.ravel(), method="average").reshape(scores.shape)
    shares: Floats = 100 * (ranks - 0.5) / scores.size
    return shares


def containing(case: Any, word: str) -> list[int]:
    """Return the numbers of the sentences of which a text has a word, from 0."""
    rows = zip(case.sources, *case.systems.values(), case.references.texts(), strict=True)
    return [
        number
        for number, (*texts, references) in enumerate(rows)
        if any(word in text.lower() for text in (*texts, *references))
    ]


def best_two(case: Any) -> tuple[int, int]:
    """Return the two systems that are compared at first, A and B."""
    best, second = case.report["overview"]["rankings"][0]["order"][:2]
    return best, second


def selected(page: Page) -> str:
    return page.inner_text(".detail h3")


def field(page: Page, label: str) -> Any:
    """Return the select with a label."""
    return page.locator(f'label.field:has(> span:text-is("{label}")) select >> visible=true')


def test_every_section_is_there_and_nothing_is_requested(visit: Open, case: Any) -> None:
    page = visit()
    assert page.title() == "Four systems <b> – learnedgec report"
    assert page.inner_text("h1") == "Four systems <b>"
    for section in SECTIONS:
        page.click(f'nav a[href="#{section}"]')
        expect(page.locator(f"#{section}")).to_be_visible()
        expect(page.locator("main > section:visible")).to_have_count(1)
        assert page.locator(f"#{section} .card, #{section} .row").count() > 0


def test_the_matrix_of_wins_is_not_cut(visit: Open) -> None:
    page = visit("#overview", viewport={"width": 1280, "height": 800})
    wins = page.locator('[aria-label="Wins of the row against the column"]')
    assert wins.evaluate("node => node.scrollWidth <= node.clientWidth")


def test_the_sentences_open_on_the_two_best_systems(visit: Open, case: Any) -> None:
    page = visit("#sentences")
    for label, system in zip(("system A", "system B"), best_two(case), strict=True):
        assert field(page, label).input_value() == str(system)


def test_scores_are_the_rankings_and_can_be_sorted(visit: Open, case: Any) -> None:
    page = visit("#overview")
    rankings, names = case.report["overview"]["rankings"], list(case.systems)
    rows = page.locator("#scores tbody th")
    assert rows.all_inner_texts() == [names[s] for s in rankings[0]["order"]]
    value = page.locator("#scores tbody tr").first.locator(".value").first.inner_text()
    assert value == f"{max(rankings[0]['scores']):.4f}"
    by_edits = [names[s] for s in rankings[2]["order"]]
    for expected in (by_edits, by_edits[::-1]):
        page.click("#scores thead th:nth-child(4) button")
        assert rows.all_inner_texts() == expected


def test_filters(visit: Open, case: Any) -> None:
    page = visit("#sentences?sort=number")
    texts = case.report["sentences"]

    def left_by(label: str) -> int:
        """Return how many sentences a box alone leaves."""
        page.click("text=Clear all")
        page.check(f"text={label}")
        return counted(page)

    assert counted(page) == len(case.sources)
    page.fill("input[type=search]", "SCHOLARSHIP")
    expected = containing(case, "scholarship")
    assert shown(page) == expected
    assert 0 < len(expected) < len(case.sources)
    page.fill("input[type=search]", "no such words")
    assert counted(page) == 0
    page.click("#sentences summary")
    page.click("text=Clear all")
    assert counted(page) == len(case.sources)
    page.fill('input[aria-label$="from"]', "10")
    page.fill('input[aria-label$="to"]', "12")
    assert counted(page) == sum(10 <= len(source.split()) <= 12 for source in case.sources)
    a, b = best_two(case)
    first, second = (list(case.systems.values())[system] for system in (a, b))
    assert left_by("A and B differ") == sum(a != b for a, b in zip(first, second, strict=True))
    # The second metric is of another kind: impara needs no references.
    gleu_scores, other = (np.array(texts["metrics"][m]["scores"]) for m in (0, 3))
    disagree = (gleu_scores[a] - gleu_scores[b]) * (other[a] - other[b]) < 0
    assert left_by("the two metrics disagree") == disagree.sum() > 0
    rejected = np.array(texts["metrics"][3]["rejected"])[[a, b]].any(axis=0)
    assert 0 < left_by("the metric's gate rejects") == rejected.sum() < len(case.sources)
    page.click("text=Clear all")
    field(page, "error type").select_option(label="R:VERB:SVA")
    field(page, "found in").select_option(label="system A's output")
    kind = case.report["types"].index("R:VERB:SVA")
    edits_of = [texts["outputs"][n][texts["of"][a][n]]["edits"] for n in range(len(case.sources))]
    assert counted(page) == sum(any(edit[3] == kind for edit in edits) for edits in edits_of) > 0
    field(page, "found in").select_option(label="edits that A missed")
    lens = texts["lenses"][0]
    missed = [lens["lists"][n][lens["of"][a][n]]["missed"] for n in range(len(case.sources))]
    assert counted(page) == sum(any(edit[3] == kind for edit in edits) for edits in missed)


def test_order(visit: Open, case: Any) -> None:
    page = visit("#sentences")
    # At first, the sentences on which a metric with and one without references disagree most.
    errant, impara = (np.array(case.report["sentences"]["metrics"][m]["scores"]) for m in (0, 3))
    a, b = best_two(case)
    leads = [percentiles[a] - percentiles[b] for percentiles in map(percentile, (errant, impara))]
    some = shown(page)
    assert some == np.argsort(leads[0] * leads[1], kind="stable")[: len(some)].tolist()
    assert selected(page) == f"Sentence {some[0] + 1}"
    field(page, "sort by").select_option(label="difference of A and B")
    some = shown(page)
    differences = np.abs(errant[a] - errant[b])
    assert some == np.argsort(-differences, kind="stable")[: len(some)].tolist()
    scores = np.array(case.report["sentences"]["metrics"][1]["scores"])
    field(page, "metric").select_option(label="gleu")
    field(page, "sort by").select_option(label="score of A")
    some = shown(page)
    assert some == np.argsort(scores[a], kind="stable")[: len(some)].tolist()
    field(page, "system B").select_option(label="weak")
    field(page, "sort by").select_option(label="A − B")
    page.click("button.order")
    some = shown(page)
    assert some == np.argsort(scores[3] - scores[a], kind="stable")[: len(some)].tolist()
    assert "A +" in page.locator(".row").first.inner_text()


def test_keyboard(visit: Open, case: Any) -> None:
    page = visit("#sentences?sort=number")
    page.focus(".list")
    for key, expected in (
        ("ArrowDown", 2), ("j", 3), ("k", 2), ("ArrowUp", 1), ("ArrowUp", 1), ("End", 41), ("Home", 1),
    ):  # fmt: skip
        page.keyboard.press(key)
        assert selected(page) == f"Sentence {expected}"
    page.keyboard.press("End")
    row = page.locator('.row[aria-selected="true"]')
    expect(row).to_be_in_viewport()
    assert page.get_attribute(".list", "aria-activedescendant") == row.get_attribute("id")
    page.keyboard.press("Enter")
    expect(page.locator(".detail")).to_be_focused()
    page.keyboard.press("k")
    assert selected(page) == "Sentence 40"
    page.keyboard.press("Escape")
    expect(page.locator(".list")).to_be_focused()
    page.keyboard.press("/")
    expect(page.locator("input[type=search]")).to_be_focused()
    page.keyboard.type("jk/")
    assert page.input_value("input[type=search]") == "jk/"


def test_link_to_a_sentence(visit: Open, case: Any) -> None:
    page = visit("#sentences?sentence=17&a=2&metric=1&search=the")
    assert selected(page) == "Sentence 17"
    expect(page.locator('.row[data-sentence="16"]')).to_be_in_viewport()
    assert field(page, "system A").input_value() == "2"
    assert page.input_value("input[type=search]") == "the"
    page.click('button[aria-label="Next sentence"]')
    following = selected(page)
    address = page.evaluate("location.hash")
    assert "a=2" in address
    assert selected(visit(address)) == following
    page.evaluate("location.hash = '#sentences?sentence=5'")
    expect(page.locator(".detail h3")).to_have_text("Sentence 5")
    # What makes no sense is left out.
    page = visit("#sentences?sentence=999&a=77&sort=nonsense&lens=x")
    assert selected(page) == f"Sentence {shown(page)[0] + 1}"


def test_export_equals_the_command_line(
    visit: Open, case: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = visit("#sentences?search=the", accept_downloads=True)
    field(page, "sort by").select_option(label="score of A")
    matching = containing(case, "the")
    assert counted(page) == len(matching) < len(case.sources)
    saved = {}
    for name in ("CSV", "M2"):
        with page.expect_download() as download:
            page.click(f".export >> text={name}")
        download.value.save_as(tmp_path / name)
        saved[name] = (tmp_path / name).read_text(encoding="utf-8")
    gold = ["--gold", str(case.folder / "gold.m2"), "--metric", *map(str, case.metrics)]
    words = ["score", *case.inputs, *gold, "--level", "sentence", "--format", "csv", "--quiet"]
    assert main(words) == 0
    header, *lines = capsys.readouterr().out.splitlines(keepends=True)
    size = len(case.sources)
    chosen = [line for number, line in enumerate(lines) if number % size in set(matching)]
    assert saved["CSV"] == "".join([header, *chosen])
    words = ["edits", *case.inputs, "--annotator", "en-ewt-sm", "--quiet"]
    assert main(words) == 0
    blocks = capsys.readouterr().out.split("\n\n")
    assert saved["M2"] == "".join(blocks[n] + "\n\n" for n in matching)


def test_hostile_text_is_text(visit: Open, case: Any) -> None:
    page = visit(f"#sentences?sentence={len(case.sources)}&types=true")
    assert page.inner_text(".source .diff") == " ".join(case.sources[-1].split())
    assert page.locator("main img, main b b, main i, main u, main script").count() == 0
    assert "<b>bold</b>" in page.inner_text(".detail")
    assert "R:<i>" in page.locator(".detail").text_content()
    for section in SECTIONS:
        page.click(f'nav a[href="#{section}"]')
    assert page.locator("main img, main i, main u, main script").count() == 0
    assert page.title() == "Four systems <b> – learnedgec report"


def test_differences_make_the_outputs(visit: Open, case: Any) -> None:
    page = visit("#sentences?lens=0&sort=number")
    page.focus(".list")
    read = """cards => cards.map(card => {
        const line = card.querySelector('.diff').cloneNode(true);
        line.querySelectorAll('del, .missed, .sign, .heard, .type').forEach(node => node.remove());
        return [[...card.querySelectorAll('.system')].map(s => s.lastChild.textContent), line.textContent];
    })"""
    for number in range(len(case.sources)):
        for systems, text in page.eval_on_selector_all(".output", read):
            for system in systems:
                expected = case.systems[system][number].split()
                if expected:
                    assert text.split() == expected
        page.keyboard.press("ArrowDown")


def test_worth_of_edits(visit: Open, case: Any) -> None:
    page = visit("#sentences?sentence=1")
    worth = case.report["sentences"]["attribution"][0]["values"][0]
    cards = page.locator(".output")
    assert cards.count() == len({case.report["sentences"]["of"][s][0] for s in range(4)})
    rows = cards.first.locator(".worth tbody tr")
    assert rows.count() in {len(values) for values in worth}
    columns = rows.locator("td:nth-child(3)").all_inner_texts()
    total = sum(float(text.split()[0].replace("−", "-")) for text in columns)
    shown = cards.first.locator(".worth summary").inner_text().split(": ")[1].split()[0]
    assert float(shown.replace("−", "-")) == pytest.approx(total, abs=0.005)


def test_what_scores_mean(visit: Open, case: Any) -> None:
    page = visit("#overview")
    card = page.locator(".card", has_text="What the scores of edit-count mean")
    for system, sentence in zip(case.systems, case.report["meaning"][2]["sentences"], strict=True):
        expect(card).to_contain_text(f"{system}: {sentence}")
    assert card.locator("svg circle").count() == 2
    page = visit("#sentences?sentence=1&metric=2")
    percentile = case.report["meaning"][2]["percentiles"][0][0]
    expect(page.locator(".output").first).to_contain_text(f"(above {percentile} % of bench)")


def test_error_types_are_those_of_errant(visit: Open, case: Any) -> None:
    page = visit("#errors")
    kind, systems = next(iter(case.report["errors"]["tiers"]["category"].items()))
    row = page.locator("#errors tbody tr").first
    assert row.locator("th").inner_text() == kind
    tp, fp, fn = systems[0]
    f = 1.25 * tp / (1.25 * tp + fp + 0.25 * fn)
    assert row.locator("td").nth(1).inner_text() == f"{f:.2f}"
    rare = [
        kind
        for kind, of_systems in case.report["errors"]["tiers"]["category"].items()
        if max(tp + fn for tp, _, fn in of_systems) < 5
    ]
    grey = page.locator("#errors tbody tr:has(td.muted:nth-child(n + 3)) th")
    assert grey.all_inner_texts() == rare != []
    field(page, "show").select_option(label="tp / fp / fn")
    assert row.locator("td").nth(1).inner_text() == f"{tp} / {fp} / {fn}"


@pytest.mark.parametrize(
    ("scheme", "width"), [*product(("light", "dark"), (360, 1280)), ("dark", 800), ("light", 3840)]
)
def test_axe_finds_no_serious_violation_and_no_section_is_wider_than_the_window(
    visit: Open, scheme: str, width: int
) -> None:
    page = visit(color_scheme=scheme, viewport={"width": width, "height": 900}, bypass_csp=True)
    for section in SECTIONS:
        page.click(f'nav a[href="#{section}"]')
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, section
        if section == "sentences":
            page.click("#sentences summary")
        violations = Axe().run(page).response["violations"]
        serious = [
            (violation["id"], node["target"], node.get("failureSummary"))
            for violation in violations
            if violation["impact"] in ("serious", "critical")
            for node in violation["nodes"][:3]
        ]
        assert serious == [], section


def test_a_phone(visit: Open) -> None:
    page = visit(
        "#sentences", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    page.locator(".row").nth(2).tap()
    expect(page.locator(".detail h3")).to_be_in_viewport()
    page.click(".to-list")
    expect(page.locator(".list")).to_be_in_viewport()
    # Tabs have one row, and what goes on beyond the edge fades.
    tops = page.eval_on_selector_all("nav a", "links => links.map(link => link.offsetTop)")
    assert len(set(tops)) == 1
    assert page.eval_on_selector("nav", "nav => nav.classList.contains('cut')")
    page.evaluate("location.hash = '#overview'")
    scores = page.locator(".scroll:has(#scores)")
    expect(scores).to_have_class("scroll cut")
    scores.evaluate("region => { region.scrollLeft = region.scrollWidth; }")
    expect(scores).to_have_class("scroll")


def test_a_missed_edit_does_not_repeat_the_words(visit: Open, case: Any) -> None:
    page = visit("#sentences?lens=0")
    page.focus(".list")
    texts = """marks => marks.flatMap(mark => [...mark.childNodes])
        .filter(node => node.nodeType === Node.TEXT_NODE).map(node => node.textContent)"""
    missed: list[str] = []
    for _ in range(12):
        missed += page.eval_on_selector_all(".output .kept + .missed", texts)
        page.keyboard.press("j")
    assert missed
    assert all(text.startswith("→ ") for text in missed)


def test_without_script_the_overview_is_there(visit: Open, case: Any) -> None:
    page = visit(java_script_enabled=False)
    for name in case.systems:
        expect(page.locator("#scores")).to_contain_text(name)
    expect(page.locator(".verdict")).to_be_visible()
    expect(page.locator("#provenance")).to_be_visible()
    expect(page.locator("#sentences")).to_be_hidden()


def test_on_paper(visit: Open) -> None:
    page = visit("#sentences?sentence=3")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    for section in SECTIONS:
        expect(page.locator(f"#{section}")).to_be_visible()
    expect(page.locator(".list")).to_be_hidden()
    expect(page.locator(".detail")).to_be_visible()
    assert page.locator("#errors tbody tr").count() > 5
