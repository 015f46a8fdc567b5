"""The site in a browser, as a person uses it: followed, slid, typed at, and looked at closely."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsers import NAMES, launched, program
from playwright.sync_api import Browser, Page, expect
from site_logs import EMOJI, LONG, RIGHT_TO_LEFT, SCRIPT, served

from discernmem.eventlog import EventLog
from discernmem.eventlog import events as ev

pytestmark = pytest.mark.skipif(program() is None, reason=f"none of {', '.join(NAMES)} is there")

PHONE = {"width": 390, "height": 844}
CONTRAST = 4.5


@pytest.fixture(scope="module")
def url(hostile_log: Path) -> Iterator[str]:
    with served(hostile_log) as url:
        yield url


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that may say nothing on its console, raise nothing and ask nobody else."""
    with browser.new_context() as context:
        page = context.new_page()
        trouble = watched(page)
        yield page
        assert trouble == []


def watched(page: Page) -> list[str]:
    trouble: list[str] = []
    page.on("console", lambda message: trouble.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("dialog", lambda dialog: (trouble.append(dialog.message), dialog.dismiss()))

    def asked(request: Any) -> None:
        if not request.url.startswith("http://127.0.0.1:"):
            trouble.append(request.url)

    page.on("request", asked)
    return trouble


@pytest.fixture(scope="module")
def addresses(hostile_log: Path) -> list[str]:
    """One page of every kind, with those of the texts that are out to break one."""
    with EventLog.open(hostile_log) as log:
        events = {each.type: each.position for each in log.read()}
        harm = next(
            each.position
            for each in log.read(types=("EffectMeasured",))
            if isinstance(each.event, ev.EffectMeasured) and each.event.sign == "negative"
        )
    names = ["memories", "memories/m1", "memories/m4", "tasks", "tasks/7", "store?at=12"]
    names += ["search?q=look", "search?q=alert", f"effects/{harm}", "memories?sort=-positive"]
    names += [f"executions/{events['ExecutionFinished']}"]
    names += [f"memories/m{number}" for number in range(5, 11)]
    names += [
        f"events/{events[name]}"
        for name in ("RunStarted", "ModelReplied", "EffectMeasured", "CandidateJudged",
                     "MemoryAdmitted", "StateChanged")
    ]  # fmt: skip
    return [f"/run/-/{name}" for name in names]


# -- used --------------------------------------------------------------------------------------


def test_from_a_retired_memory_to_what_was_said_in_the_replay_that_retired_it(
    page: Page, url: str
) -> None:
    page.goto(url)
    expect(page.get_by_role("heading", level=1)).to_have_text("Memories")
    page.get_by_role("list", name="state").get_by_role("link", name="inactive").click()
    page.get_by_role("rowheader").get_by_role("link", name="m1", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Memory m1")

    turning = page.locator(".turning").filter(has_text="inactive")
    turning.locator(".transition").filter(has_text="failed repair").get_by_role("link").click()
    expect(page.locator(".lead")).to_contain_text("→ inactive by rule 'failed repair'")

    page.locator(".listing li").filter(has_text="effect").get_by_role("link").first.click()
    expect(page.locator(".lead")).to_contain_text("(negative)")
    expect(page.locator("svg.graph")).to_contain_text("ExecutionFinished")
    page.get_by_role("link", name="The two runs side by side").click()
    expect(page.locator(".pair .side")).to_have_count(2)

    page.locator(".pair .side").last.locator("h5 a, h4 a").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Execution on")
    expect(page.locator("dl.facts").first).to_contain_text("m1.v1")
    expect(page.locator("ol.steps .step").first).to_be_visible()
    page.locator("dl.facts").first.get_by_role("link", name="task").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Task")


def test_moving_the_slider_shows_the_rule_as_it_was(
    page: Page, url: str, hostile_log: Path
) -> None:
    with EventLog.open(hostile_log) as log:
        revised = next(each for each in log.read(types=("MemoryRevised",)))
        assert isinstance(revised.event, ev.MemoryRevised)
        assert revised.task_index is not None
        old, new = (
            body
            for (body,) in log.rows(
                "select body from versions where memory = ? order by version",
                (revised.event.memory,),
            )
        )
    page.goto(f"{url}/run/-/store")
    held = page.locator(".held li").filter(has_text=f"{revised.event.memory} ")
    expect(held.locator(".rule").first).to_have_text(new)
    slider = page.get_by_role("slider", name="After task")
    slider.focus()
    for _ in range(12 - revised.task_index + 1):
        slider.press("ArrowLeft")
    expect(page.locator("#said")).to_contain_text(f"After task {revised.task_index - 1} ")
    expect(held.locator(".rule").first).to_have_text(old)
    expect(slider).to_be_focused()
    assert page.url.endswith(f"at={revised.task_index - 1}")
    page.reload()
    expect(held.locator(".rule").first).to_have_text(old)
    expect(page.locator("output")).to_have_text(str(revised.task_index - 1))


def test_without_script_the_slider_has_a_button(browser: Browser, url: str) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(f"{url}/run/-/store")
        page.get_by_role("slider", name="After task").press("Home")
        page.get_by_role("button", name="Show").click()
        expect(page.locator("#said")).to_contain_text("After task 0")


def test_searching_finds_a_rule_of_a_former_version(page: Page, url: str) -> None:
    page.goto(url)
    page.get_by_role("searchbox", name="Find a rule").fill('"look again')
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text('with “"look again”')
    page.get_by_role("searchbox", name="Words of a rule").fill("passage")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("mark").first).to_have_text("passage")
    page.locator(".held h2").first.get_by_role("link").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Memory m")


def test_a_hostile_rule_is_text(page: Page, url: str) -> None:
    for name, text in (("m5", SCRIPT), ("m6", LONG), ("m7", RIGHT_TO_LEFT), ("m8", EMOJI)):
        page.goto(f"{url}/run/-/memories/{name}")
        expect(page.locator(".lead .rule")).to_have_text(text)
    page.goto(f"{url}/run/-/memories/m9")
    expect(page.locator(".lead .rule")).to_have_text("javascript:alert(document.domain)")
    expect(page.locator("a[href^='javascript:']")).to_have_count(0)
    page.goto(f"{url}/run/-/memories/m7")
    assert page.locator(".lead .rule").evaluate("e => getComputedStyle(e).direction") == "rtl"
    assert page.locator("h1").evaluate("e => getComputedStyle(e).direction") == "ltr"


def test_a_keyboard_is_enough(page: Page, url: str) -> None:
    page.goto(url)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    expect(page.get_by_role("link", name="Skip to the content")).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    reached: list[str] = []
    for _ in range(80):
        page.keyboard.press("Tab")
        at = page.evaluate(
            """() => {
              const e = document.activeElement;
              const style = getComputedStyle(e);
              return {said: e.textContent.trim() || e.id, outline: style.outlineStyle,
                      main: Boolean(e.closest('main'))};
            }"""
        )
        if not at["main"]:
            break
        assert at["outline"] != "none", at
        reached.append(at["said"])
        if at["said"] == "m1":
            break
    assert reached[:2] == ["having", "List"]
    assert any(said.startswith("inactive") for said in reached)
    assert reached[-1] == "m1"
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Memory m1")


def test_datasette_is_there_and_leads_back(browser: Browser, url: str) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        trouble = watched(page)
        page.goto(url)
        page.get_by_role("link", name="Tables and SQL").click()
        page.get_by_role("link", name="transitions", exact=True).click()
        page.locator("td.col-memory a").first.click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Memory m")
        assert trouble == []


# -- looked at ---------------------------------------------------------------------------------


def test_nothing_is_wider_than_a_phone(browser: Browser, url: str, addresses: list[str]) -> None:
    with browser.new_context(viewport=PHONE) as context:
        page = context.new_page()
        for address in addresses:
            page.goto(f"{url}{address}")
            width = page.evaluate("document.scrollingElement.scrollWidth")
            assert width <= page.evaluate("innerWidth"), address


_LOOK = """
() => {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const brush = canvas.getContext("2d", {willReadFrequently: true});
  const rgba = colour => {
    brush.clearRect(0, 0, 1, 1);
    brush.fillStyle = colour;
    brush.fillRect(0, 0, 1, 1);
    return [...brush.getImageData(0, 0, 1, 1).data];
  };
  const luminance = ([r, g, b]) => {
    const part = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const behind = e => {
    for (; e; e = e.parentElement) {
      const colour = rgba(getComputedStyle(e).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    const e = text.parentElement;
    if (!text.data.trim() || !e.checkVisibility()) continue;
    if (e.closest("title, desc, style, script")) continue;
    const svg = e.closest("svg");
    const style = getComputedStyle(e);
    const [a, b] = [rgba(svg ? style.fill : style.color), behind(svg ?? e)].map(luminance);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < LEAST) found.push(`${ratio.toFixed(2)}: ${text.data.trim().slice(0, 40)}`);
  }
  for (const e of document.querySelectorAll("input:not([type=hidden]), select, textarea, button"))
    if (!e.labels?.length && !e.textContent.trim() && !e.ariaLabel) found.push(`no label: ${e.id}`);
  for (const e of document.querySelectorAll("svg:not(svg svg), img"))
    if (!e.querySelector(":scope > title") && !e.alt) found.push("a picture without a name");
  for (const e of document.querySelectorAll("a"))
    if (!e.textContent.trim() && !e.ariaLabel) found.push(`a link without a name: ${e.href}`);
  const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) found.push(`twice: ${id}`);
  return found;
}
""".replace("LEAST", str(CONTRAST))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_can_be_read_and_has_a_name(
    browser: Browser, url: str, addresses: list[str], scheme: Any
) -> None:
    with browser.new_context(color_scheme=scheme) as context:
        page = context.new_page()
        trouble = watched(page)
        for address in addresses:
            page.goto(f"{url}{address}")
            assert page.evaluate(_LOOK) == [], address
        assert trouble == []
