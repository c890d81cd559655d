"""Notebooks: completion, short and escaped HTML, data frames, figures."""

import re
import rlcompleter
from html.parser import HTMLParser

import numpy as np
import pytest

import labelwise as lw
from labelwise.labelling.figures.status import status_of
from labelwise.labelling.records import Predictions
from labelwise.views import html
from labelwise.views.wording import first_few

EVIL = "<script>alert(1)</script>&\"'"
MOST_LINES = 20


class Seen(HTMLParser):
    """The elements and the text that a browser finds."""

    def __init__(self, source):
        super().__init__()
        self.tags, self.text, self.open = [], "", []
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in ("polyline", "polygon"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        self.text += text


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    Y = (X @ rng.normal(size=(3, 30)) > 0.8).astype(int)
    names = [EVIL, *(f"label {j}" for j in range(1, 30))]
    texts = [f"{EVIL} number {i}\nof many words " * 9 for i in range(80)]
    return lw.LabelData.from_arrays(X, Y, label_names=names, items=texts, item_ids=[f"{EVIL}{i}" for i in range(80)])


@pytest.fixture(scope="module")
def campaign(data):
    truth = dict(zip(data.item_ids, data.Y.toarray(), strict=True))
    campaign = lw.Campaign(data.hide(), model=lw.BinaryRelevance(), strategy=lw.Uncertainty(), control=0.6)
    for question in campaign.ask(50):
        present = {name for name, there in zip(data.label_names, truth[question.item], strict=True) if there}
        campaign.tell(lw.Answer.to(question, present & set(question.labels)))
    return campaign


@pytest.fixture(scope="module")
def standing(campaign):
    return campaign.status()


@pytest.fixture(scope="module")
def project(data, tmp_path_factory):
    with lw.Project.create(tmp_path_factory.mktemp("views") / "<b>.db", data.hide().take(range(10))) as project:
        project.tell(lw.Answer(data.item_ids[0], {EVIL: True, "label 1": False}), who=EVIL)
        yield project


def test_completion_lists_every_public_name():
    found = set(rlcompleter.Completer({"lw": lw}).attr_matches("lw."))
    assert {name for name in lw.__all__ if name != "__version__"} <= {text[3:].rstrip("()") for text in found}


def test_ipython_completes_every_public_name():
    shell = pytest.importorskip("IPython.core.interactiveshell", reason="needs IPython").InteractiveShell()
    shell.push({"lw": lw})
    shell.Completer.use_jedi = False
    found = {text.rpartition(".")[2] for text in shell.complete("lw.")[1]}
    assert {name for name in lw.__all__ if not name.startswith("_")} <= found


def shown(data, campaign, standing, project):
    question = campaign.ask(1)[0]
    answer = campaign.answers[0]
    status = status_of(project)
    return {
        "data": data,
        "question": question,
        "answer": answer,
        "campaign": campaign,
        "standing": standing,
        "project": project,
        "status": status,
        "correction": lw.Answer("<i>", {EVIL: True}, correction=True),
    }


def test_html_is_short_and_escaped(data, campaign, standing, project):
    for name, thing in shown(data, campaign, standing, project).items():
        source = thing._repr_html_()
        seen = Seen(source)
        assert len(source.splitlines()) < MOST_LINES, name
        assert set(seen.tags) <= {"div", "b", "table", "tr", "th", "td", "svg", "title", "polyline", "polygon", "small"}
        assert seen.open == [], name
        assert "<script" not in source, name
        assert len(source) < 6000, name
    assert EVIL in Seen(data._repr_html_()).text and EVIL in Seen(project._repr_html_()).text


def test_what_the_html_says(data, campaign, standing, project):
    assert "80 items, 30 labels, 3 features" in Seen(data._repr_html_()).text
    assert "2,400 of 2,400 (100.0%)" in Seen(data._repr_html_()).text
    spent = campaign.spent()
    assert f"{spent.items} of 80 items" in Seen(campaign._repr_html_()).text
    found = sum(sum(answer.values.values()) for answer in campaign.answers)
    assert f"labels found{found:,}, of 30 labels" in Seen(campaign._repr_html_()).text
    assert str(standing.f1) in Seen(standing._repr_html_()).text
    assert "polygon" in Seen(standing._repr_html_()).tags  # the curve with its interval
    assert "1 of 10 items" in Seen(project._repr_html_()).text
    assert "and 22 more" in Seen(campaign.ask(1)[0]._repr_html_()).text
    assert repr(project).startswith("Project(")


def test_the_line_of_labels_found_ends_at_all_of_them():
    drawn = html.steps([(0, 0), (1, 3), (2, 4)], "labels")
    points = re.search(r'points="([^"]+)" fill="none"', drawn)[1].split()
    assert points == ["2.0,46.0", "100.0,13.0", "198.0,2.0"]
    assert html.steps([(0, 0)], "nothing yet") == ""


def test_frame_of_answers_gives_the_answers_back(campaign):
    frame = campaign.to_frame("answers")
    back = [
        lw.Answer(item, dict(zip(rows["label"], rows["value"], strict=True)), rows["reason"].iloc[0])
        for (_, item), rows in frame.groupby(["answer", "item"], sort=False)
    ]
    assert tuple(back) == campaign.answers
    assert lw.to_frame(campaign.answers).equals(frame)


def test_frames_of_beliefs_predictions_labels_and_questions(data, campaign):
    beliefs = campaign.to_frame("beliefs")
    assert beliefs.shape == (80, 30)
    assert list(beliefs.columns) == list(data.label_names) and list(beliefs.index) == list(data.item_ids)
    np.testing.assert_array_equal(beliefs.to_numpy(), campaign.believe().probabilities())
    assert lw.to_frame(campaign.believe(), items=data.item_ids, labels=data.label_names).equals(beliefs)
    assert lw.to_frame(campaign.believe()).shape == (80, 30)
    predicted, sets = campaign.to_frame(), campaign.predict()
    for row, labels in enumerate(predicted["labels"]):
        assert set(labels) == {name for name, there in zip(data.label_names, sets[row], strict=True) if there}
        assert predicted["probabilities"].iloc[row] == sorted(predicted["probabilities"].iloc[row], reverse=True)
    assert predicted["answered"].sum() == campaign.spent().items
    known = campaign.to_frame("labels")
    assert known["text"].iloc[0] == data.items[0]
    assert known[EVIL].isna().sum() == 80 - campaign.spent().items
    assert known[EVIL].sum() == campaign.labelled().Y[:, [0]].sum()
    questions = campaign.ask(3)
    assert list(lw.to_frame(questions)["item"]) == [question.item for question in questions]
    with pytest.raises(ValueError, match=r"'beliefs'.*got 'belief'"):
        campaign.to_frame("belief")
    with pytest.raises(TypeError, match="got int"):
        lw.to_frame(3)


def test_frames_of_standing_status_and_predictions(data, standing, project):
    frame = standing.to_frame()
    assert frame.loc["f1", "value"] == standing.f1.value and frame.loc["f1", "low"] == standing.f1.low
    assert frame.loc["items", "value"] == standing.spent.items
    status = project.status().to_frame()
    assert list(status["name"]) == list(data.label_names) and status["yes"].iloc[0] == 1
    p = np.array([[0.4, 0.7], [0.2, 0.1]])
    predicted = Predictions(("a", "b"), ("x", "y"), p > 0.3, p).to_frame()
    assert predicted.loc["a"].tolist() == [["y", "x"], [0.7, 0.4]] and predicted.loc["b"].tolist() == [[], []]


def test_a_label_named_as_a_field_keeps_its_column():
    data = lw.LabelData.from_arrays([[0.0]], [[1]], label_names=["size"], items=[{"size": 3}])
    assert data.to_frame().to_dict("list") == {"size": [3], "label size": [True]}
    assert list(data.to_frame(items=False).columns) == ["size"]


def test_figures(campaign, standing):
    figure = campaign.plot(standing)
    curve, shares, calibration = figure.axes
    np.testing.assert_allclose(curve.lines[0].get_ydata(), [point.f1 for point in standing.curve.points])
    widths = [bar.get_width() for bar in shares.patches]
    expected = np.sort(100 * campaign.believe().probabilities().mean(axis=0))[::-1][:20]
    np.testing.assert_allclose(widths, expected)
    assert len(calibration.lines) == 1 + 2 * len(standing.calibration["bins"])
    assert figure._repr_png_().startswith(b"\x89PNG")
    for single in (lw.plots.draw_learning_curve(standing), lw.plots.draw_calibration(standing)):
        assert len(single.axes) == 1
    assert len(lw.plots.draw_label_shares(campaign, most=5).axes[0].patches) == 5


def test_a_young_campaign_says_why_there_is_no_figure(data):
    young = lw.Campaign(data.hide(), model=lw.BinaryRelevance(), strategy=lw.Random())
    figure = young.plot()
    assert "no random questions" in figure.axes[0].texts[0].get_text()
    assert "svg" not in young._repr_html_()


def test_few_names():
    assert first_few(["a"], 3) == "a"
