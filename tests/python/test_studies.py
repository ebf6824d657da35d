"""The studies that come with incast can run, and their claims lead somewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from incast.study import Study, judged, load
from incast.study.cells import cell_runs
from incast.study.verdict import Verdict

ROOT = Path(__file__).parents[2]
STUDIES = sorted(file.parent for file in (ROOT / "studies").glob("*/study.yaml"))
MEASURED = sorted(file.parent for file in (ROOT / "studies").glob(f"*/{judged.FILE}"))


@pytest.fixture(params=STUDIES, ids=lambda folder: folder.name)
def study(request: pytest.FixtureRequest) -> Study:
    return load(request.param)


def test_every_cell_can_run(study: Study) -> None:
    assert len(cell_runs(study, study.cells, [1])) == len(study.cells)


def test_every_published_row_has_a_cell(study: Study) -> None:
    if not study.published:
        pytest.skip("nothing was published as numbers that its cells answer to")
    rows = (study.folder / "published.csv").read_text("utf-8").splitlines()
    assert len(study.published) == sum(not row.startswith("#") for row in rows) - 1


def test_what_checks_a_claim_is_there(study: Study) -> None:
    for claim in study.claims:
        for file in claim.checked_by:
            assert (ROOT / file).is_file(), f"{claim.id}: {file}"


@pytest.mark.parametrize("folder", MEASURED, ids=lambda folder: folder.name)
def test_a_study_of_measured_programs_judges_its_findings(folder: Path) -> None:
    findings = judged.judge(folder)
    for finding in findings:
        assert (finding.verdict == Verdict.UNTESTED) == (finding.claim.kind != "finding"), finding.claim.id
        for file in finding.claim.checked_by:
            assert (ROOT / file).is_file(), f"{finding.claim.id}: {file}"


def test_every_study_can_be_reproduced() -> None:
    folders = {file.parent for file in (ROOT / "studies").glob("*/claims.toml")}
    assert folders == {*STUDIES, *MEASURED}


def test_the_readme_says_what_the_study_is(study: Study) -> None:
    text = (study.folder / "README.md").read_text("utf-8")
    for values in study.axes.values():
        for value in values:
            assert f"`{value}`" in text, value


def test_hadoop_has_a_claim_for_every_slide_that_says_something() -> None:
    claims = load(ROOT / "studies" / "datacentre-hadoop").claims
    slides = {int(claim.id[1:].split(".")[0]) for claim in claims}
    # Slides with tests, their summaries and what is concluded from them.
    assert slides >= {
        6,
        19,
        20,
        24,
        27,
        34,
        42,
        50,
        53,
        54,
        55,
        57,
        60,
        61,
        62,
        63,
        64,
        65,
        68,
        69,
        70,
        71,
        72,
    }
    assert slides >= {74, 75, 76, 77, 78, 79, 82, 84, 88}
    assert {claim.place.split()[0] for claim in claims} == {"slide", "slides"}
