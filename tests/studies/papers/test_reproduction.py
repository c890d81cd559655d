"""Papers run, accounted for and reported: small papers in place of the real ones."""

import json
from functools import partial

import pytest

pytest.importorskip("jinja2", reason="needs the extra plots")

from labelwise.studies.jobs import Job
from labelwise.studies.papers import Claim, Exhibit, Paper, account_for, report_together, reproduce_paper
from labelwise.studies.papers.reproduction import as_plain, count_verdicts, verdicts_in_words


def double(value):
    return {"value": 2 * value}


def make_paper(name, verdicts, needs_data=False):
    """A paper with two exhibits, of two pieces and of one; the claims of each have the given verdicts."""

    def plan(quick, shared):
        if needs_data and shared is None:
            return {}
        return {"first": [Job(double, {"value": v}) for v in (1, 2)], "second": [Job(double, {"value": 3})]}

    paper = Paper(name, f"{name.upper()}: on doubling", plan)

    def show(part, runs):
        return Exhibit(f"The {part}", claims=[Claim(part, f"it is {v}", "1", str(len(runs)), v) for v in verdicts])

    for part in ("first", "second"):
        paper.exhibit(part)(partial(show, part))
    return paper


ONE, TWO = make_paper("one", ["holds"]), make_paper("two", ["does not hold", "not shown"])


def test_nothing_is_computed_and_what_is_there_is_told(tmp_path, monkeypatch):
    assert account_for(ONE, tmp_path).state == "not run yet"
    reproduce_paper(ONE, tmp_path, n_jobs=1)
    monkeypatch.setattr("labelwise.studies.jobs._finish", lambda *a: pytest.fail("computed"))
    account = account_for(ONE, tmp_path)
    assert account.state == "finished" and (account.finished, account.pieces) == (3, 3)
    assert [(claim.where, claim.ours) for claim in account.claims] == [("first", "2"), ("second", "1")]


def test_an_exhibit_that_lacks_a_piece_is_not_judged(tmp_path):
    reproduce_paper(TWO, tmp_path, n_jobs=1)
    piece = TWO.jobs(False, None)["first"][1]
    (tmp_path / "jobs" / f"{piece.key}.json").write_text("{}")  # damaged
    account = account_for(TWO, tmp_path)
    assert account.state == "2 of 3 pieces" and list(account.unfinished) == ["first"]
    assert {claim.where for claim in account.claims} == {"second"}


def test_a_paper_whose_sets_are_missing_says_so(tmp_path):
    account = account_for(make_paper("far", ["holds"], needs_data=True), tmp_path)
    assert account.state == "needs the published sets" and account.claims == []


def test_verdicts_are_counted_and_told(tmp_path):
    for paper in (ONE, TWO):
        reproduce_paper(paper, tmp_path / paper.name, n_jobs=1)
    accounts = [account_for(paper, tmp_path / paper.name) for paper in (ONE, TWO)]
    claims = [claim for account in accounts for claim in account.claims]
    assert count_verdicts(claims) == {"holds": 2, "holds in part": 0, "not shown": 2, "does not hold": 2}
    assert verdicts_in_words(accounts) == "Of 6 claims 2 hold, 0 hold in part, 2 are not shown, 2 do not hold."
    accounts.append(account_for(make_paper("three", ["holds"]), tmp_path / "three"))
    assert verdicts_in_words(accounts).endswith(" Not whole: three (not run yet).")
    single = account_for(make_paper("one", ["not shown"]), tmp_path / "one")
    assert verdicts_in_words([single]).startswith("Of 2 claims 0 hold, 0 hold in part, 2 are not shown")


def test_one_report_holds_all_papers_with_those_not_run_as_such(tmp_path):
    reproduce_paper(TWO, tmp_path / "two", n_jobs=1)
    accounts = [account_for(paper, tmp_path / paper.name) for paper in (ONE, TWO)]
    text = report_together(accounts, tmp_path / "report.html", quick=True).read_text()
    assert "Nothing to show: not run yet." in text and "TWO: on doubling" in text and "TWO · The second" in text
    assert "A quick run" in text and text.count("it is not shown") == 2
    assert (tmp_path / "figures" / "verdicts.png").exists()
    plain = as_plain(accounts, tmp_path / "report.html")
    assert json.loads(json.dumps(plain)) == plain
    assert [(p["paper"], p["state"], len(p["claims"])) for p in plain["papers"]] == [
        ("one", "not run yet", 0),
        ("two", "finished", 4),
    ]
    assert plain["verdicts"]["not shown"] == 2


def test_without_any_claim_there_is_a_report_and_no_picture(tmp_path):
    text = report_together([account_for(ONE, tmp_path)], tmp_path / "report.html").read_text()
    assert "No claim was tried yet." in text and "<img" not in text


def plan(quick, shared):
    return {"numbers": [Job(double, {"value": v}) for v in range(2 if quick else 4)]}


DOUBLING = Paper("doubling", "A paper on doubling", plan)


@DOUBLING.exhibit("numbers")
def doubled(runs):
    return Exhibit(
        "Table 1", claims=[Claim("Table 1", "twice <b>as</b> much", "12", str(sum(runs.values("value"))), "holds")]
    )


def test_claims_and_report(tmp_path):
    seen = []
    done = reproduce_paper(DOUBLING, tmp_path, n_jobs=1, on_job=lambda *told: seen.append(told))
    assert done.claims[0].ours == "12"
    assert seen[-1] == ("numbers", 4, 4)
    text = done.report.read_text()
    assert "A paper on doubling" in text and "twice &lt;b&gt;as&lt;/b&gt; much" in text and "holds" in text
    assert "quick" not in text


def test_quick_says_so_and_uses_what_is_there(tmp_path):
    reproduce_paper(DOUBLING, tmp_path, n_jobs=1)
    seen = []
    done = reproduce_paper(DOUBLING, tmp_path, quick=True, n_jobs=1, on_job=lambda *told: seen.append(told))
    assert seen == [("numbers", 2, 2)]
    assert done.claims[0].ours == "2"
    assert "A quick run" in done.report.read_text()
