import numpy as np
import pytest

pytest.importorskip("jinja2", reason="needs the extra plots")

from labelwise.experiments.jobs import Job
from labelwise.experiments.reproduce import Claim, Exhibit, Paper, reproduce_paper


def double(value):
    return {"value": 2 * value}


def plan(quick, shared):
    return {"numbers": [Job(double, {"value": v}) for v in range(2 if quick else 4)]}


def shown(outcomes):
    total = int(np.sum([outcome["value"] for outcome in outcomes["numbers"]]))
    return [Exhibit("Table 1", claims=[Claim("Table 1", "twice <b>as</b> much", "12", str(total), "holds")])]


PAPER = Paper("doubling", "A paper on doubling", plan, shown)


def test_claims_and_report(tmp_path):
    seen = []
    done = reproduce_paper(PAPER, tmp_path, n_jobs=1, on_job=lambda *told: seen.append(told))
    assert done.claims[0].ours == "12"
    assert seen[-1] == ("numbers", 4, 4)
    text = done.report.read_text()
    assert "A paper on doubling" in text and "twice &lt;b&gt;as&lt;/b&gt; much" in text and "holds" in text
    assert "quick" not in text


def test_quick_says_so_and_uses_what_is_there(tmp_path):
    reproduce_paper(PAPER, tmp_path, n_jobs=1)
    seen = []
    done = reproduce_paper(PAPER, tmp_path, quick=True, n_jobs=1, on_job=lambda *told: seen.append(told))
    assert seen == [("numbers", 2, 2)]
    assert done.claims[0].ours == "2"
    assert "A quick run" in done.report.read_text()
