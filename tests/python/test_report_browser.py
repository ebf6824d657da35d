"""The report in a real browser: it draws, offline, without errors, in both themes, on a phone too."""

import csv
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import networkx as nx
import pytest
from testkit.browsers import violations

import incast
from incast.report import write
from incast.study import page as study_page
from incast.study.outcome import collect
from incast.study.run import run_study
from report_data import write_choices, write_pauses, write_run, write_tasks
from studies import study
from test_study_page import DRAWN

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
NAME = "</script><script>document.title='broken'</script><b>bold</b>" + "n" * 200


@pytest.fixture
def browser(chromium: Any) -> Any:
    """Tests share pages."""
    return chromium


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of four choices with all sections, under a name that tries to be markup."""
    folder = write_choices(tmp_path_factory.mktemp("choices"), name=NAME)
    write_pauses(folder / "shallow")
    write_tasks(folder / "deep", stuck=1)
    return write(folder)


def opened(
    browser: Any, file: Path, width: int = 1200, scheme: str = "light"
) -> tuple[Any, list[str], list[str]]:
    """The page with everything drawn, what it logged, and what it asked for."""
    page = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme).new_page()
    logged: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: logged.append(message.text))
    page.on("pageerror", lambda error: logged.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    sync_api.expect(page.locator(".chart:not(:has(svg))")).to_have_count(0, timeout=20_000)
    return page, logged, asked


_opened_once = cache(opened)


def kept(
    browser: Any, file: Path, width: int = 1200, scheme: str = "light"
) -> tuple[Any, list[str], list[str]]:
    """The same page for all tests that leave it as it is: drawing all charts takes seconds."""
    return _opened_once(browser, file, width, scheme)


@pytest.mark.parametrize(
    ("width", "scheme"), [(1200, "light"), (1200, "dark"), (390, "dark"), (320, "light")]
)
def test_it_draws_everything_offline_without_a_sound(
    browser: Any, page_file: Path, width: int, scheme: str
) -> None:
    page, logged, asked = kept(browser, page_file, width, scheme)
    assert page.locator(".chart svg").count() > 20
    for section in ("timeline", "queue", "congestion", "completion", "wait", "series"):
        assert page.locator(f"section[aria-labelledby={section}] .chart svg").count()
    assert logged == []
    assert asked == [page_file.as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.title() == f"{NAME}: incast report"


def test_charts_follow_the_theme(browser: Any, page_file: Path) -> None:
    colors = []
    for scheme in ("light", "dark"):
        page, _, _ = kept(browser, page_file, scheme=scheme)
        label = page.locator(".chart svg .role-axis-title text").first
        colors.append(label.evaluate("(text) => getComputedStyle(text).fill"))
        assert colors[-1].startswith("rgb")
    assert colors[0] != colors[1]


def test_pointing_at_a_link_tells_its_load(browser: Any, page_file: Path) -> None:
    page, _, _ = kept(browser, page_file)
    tip, canvas = page.locator("#tip"), page.locator(".network canvas").first
    canvas.focus()
    page.keyboard.press("ArrowRight")  # the first host
    page.keyboard.press("ArrowUp")  # its link
    by_keys = tip.inner_text()
    assert "Gb/s:" in by_keys
    assert "busy" in by_keys
    box, said = canvas.bounding_box(), tip.bounding_box()
    page.keyboard.press("Escape")
    assert tip.is_hidden()
    # What is said stands next to the link.
    x, y = said["x"] - 14 - box["x"], said["y"] + said["height"] + 12 - box["y"]
    canvas.hover(position={"x": x, "y": y})
    assert tip.inner_text() == by_keys


def test_a_network_is_printed_finely_and_in_light_colours(browser: Any, page_file: Path) -> None:
    page, _, _ = opened(browser, page_file, scheme="dark")
    canvas = page.locator(".network canvas").first
    sharp = "(canvas) => canvas.width / canvas.clientWidth"
    white = """(canvas) => {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return data.some((_, at) => at % 4 === 0 && data.subarray(at, at + 4).every((each) => each === 255));
    }"""
    assert canvas.evaluate(sharp) == pytest.approx(4, rel=0.01)
    assert canvas.evaluate(white)
    page.emulate_media(media="print", color_scheme="dark")
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(255, 255, 255)"
    page.emulate_media(media="screen", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert canvas.evaluate(sharp) == pytest.approx(1, rel=0.01)
    assert not canvas.evaluate(white)


@pytest.mark.parametrize("tool", ["Table", "CSV", "SVG", "PNG"])
@pytest.mark.parametrize("place", [".network", "section[aria-labelledby=queue]"])
def test_a_pictures_figures_leave_the_page(browser: Any, page_file: Path, place: str, tool: str) -> None:
    page, _, _ = kept(browser, page_file)
    button = page.locator(f"{place} .tools button", has_text=tool).first
    if tool == "Table":
        button.click()
        page.locator("[data-table] tbody tr").nth(3).wait_for()
        button.click()
        page.locator("[data-table]").wait_for(state="detached")
        return
    with page.expect_download() as saved:
        button.click()
    content = Path(saved.value.path()).read_bytes()
    if tool == "CSV":
        head, *rows = csv.reader(content.decode().splitlines())
        assert head[0] == "set"
        assert {len(row) for row in rows} == {len(head)}
    elif tool == "SVG":
        drawn = ElementTree.fromstring(content)
        assert drawn.tag == "{http://www.w3.org/2000/svg}svg"
        assert "".join(drawn.itertext()).strip(), "names of what is drawn"
        assert list(drawn.iter("{http://www.w3.org/2000/svg}path"))
        assert b"var(--" not in content
    else:
        assert content.startswith(b"\x89PNG")


def test_choosing_a_run_changes_the_links_colours(browser: Any, tmp_path: Path) -> None:
    for seed, choice in enumerate(("one", "two")):
        write_run(tmp_path / choice, seed=seed)
    page, _, _ = opened(browser, write(tmp_path))
    drawn = "document.querySelector('.network canvas').toDataURL()"
    before = page.evaluate(drawn)
    page.locator("input[name=load]:not(:checked)").check()
    assert page.evaluate(drawn) != before


def test_every_table_and_picture_has_a_name_for_those_who_cannot_see_it(
    browser: Any, page_file: Path
) -> None:
    page, _, _ = kept(browser, page_file)
    assert page.locator("table:not(:has(caption))").count() == 0
    assert page.locator("th:not([scope])").count() == 0
    assert page.locator("[role=img]:not([aria-label])").count() == 0
    assert page.locator("h1").count() == 1


@pytest.mark.parametrize("kind", ["page_file", "walk_file", "study_file"])
@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "dark")])
def test_pages_are_accessible(
    browser: Any, request: pytest.FixtureRequest, kind: str, width: int, scheme: str
) -> None:
    page, _, _ = kept(browser, request.getfixturevalue(kind), width, scheme)
    assert violations(page) == ""


def test_pointing_at_a_task_tells_its_flows(browser: Any, tmp_path: Path) -> None:
    write_run(tmp_path)
    write_tasks(tmp_path, stuck=1)
    page, logged, _ = opened(browser, write(tmp_path), 390, "dark")
    timeline = page.locator("section[aria-labelledby=timeline]")
    assert timeline.locator(".chart svg .role-axis-label text").first.text_content()
    timeline.locator(".chart svg .mark-rect.tasks_marks path").first.hover(force=True)
    page.wait_for_selector("#vg-tooltip-element.visible")
    tip = page.locator("#vg-tooltip-element").inner_text()
    assert "on compute" in tip
    assert "longest" in tip
    assert logged == []


@pytest.fixture(scope="module")
def walk_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of walks on servers, between nodes whose names try to be markup."""
    graph = nx.relabel_nodes(nx.karate_club_graph(), {0: NAME, 1: "<i>1</i>"})
    out = tmp_path_factory.mktemp("walks") / "out"
    incast.walk(graph, walks=500, servers=2, settings={"sample": "2ms"}, out=out)
    return write(out)


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "dark"), (320, "light")])
def test_a_page_of_walks_draws_everything_offline_without_a_sound(
    browser: Any, walk_file: Path, width: int, scheme: str
) -> None:
    page, logged, asked = kept(browser, walk_file, width, scheme)
    # Queues of two servers, walks and walkers a second; drops where there are any.
    assert page.locator(".chart svg").count() >= 4
    assert logged == []
    assert asked == [walk_file.as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.title() == "Personalised PageRank: incast report"
    assert page.locator("i").count() == 0
    assert page.locator("table:not(:has(caption))").count() == 0
    assert page.locator("[role=img]:not([aria-label])").count() == 0


@pytest.fixture(scope="module")
def study_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study's page with everything that it can have."""
    found = study(tmp_path_factory.mktemp("drawn") / "study", DRAWN)
    out = tmp_path_factory.mktemp("drawn") / "results"
    run_study(found, out, cells=found.cells, seeds=[1, 2], jobs=2)
    return study_page.write(collect(found, out), out)


@pytest.mark.parametrize(
    ("width", "scheme"), [(1200, "light"), (1200, "dark"), (390, "dark"), (320, "light")]
)
def test_a_studys_page_draws_everything_offline_without_a_sound(
    browser: Any, study_file: Path, width: int, scheme: str
) -> None:
    page, logged, asked = kept(browser, study_file, width, scheme)
    assert page.locator("section[aria-labelledby=published] .chart svg").count() == 2
    assert page.locator("section[aria-labelledby=pictures] .chart svg").count() == 6
    assert logged == []
    assert asked == [study_file.as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("table:not(:has(caption))").count() == 0
    assert page.locator("[role=img]:not([aria-label])").count() == 0


def test_claims_are_filtered_by_verdict(browser: Any, study_file: Path) -> None:
    page, _, _ = opened(browser, study_file)
    claims = page.locator(".claim:visible b")
    assert claims.all_inner_texts() == ["S1", "S2", "S3"]
    page.locator("input[name=verdict][value=fails]").check()
    assert claims.all_inner_texts() == ["S2"]
    assert page.locator(".place:visible").count() == 1
    page.locator("input[name=verdict][value='']").check()
    assert claims.count() == 3
