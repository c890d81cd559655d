"""Labelling in a notebook: the questions and answers behind the widget, the widget, and its script in a browser."""

import shutil

import numpy as np
import pytest

import labelwise as lw
from labelwise.campaign.widget import SCRIPT, Labeller

EVIL = "<img src=x onerror=window.hit=1>"


def make(n=8):
    items = [{"body": f"{EVIL} text {i}"} for i in range(n)]
    data = lw.LabelData.from_arrays(np.arange(n)[:, None] / 4, label_names=["cat", "dog", EVIL], items=items)
    return lw.Campaign(data, model=lw.BinaryRelevance(), strategy=lw.Random(), random_state=0)


def test_questions_are_those_of_the_campaign_and_answers_are_told():
    labeller, expected = Labeller(make(), batch=3), make().ask(3)
    for n, question in enumerate(expected):
        shown = labeller.state()
        assert (shown["number"], shown["item"], set(shown["labels"])) == (n, question.item, set(question.labels))
        assert shown["text"] == f"body: {EVIL} text {question.item}"
        labeller.do({"do": "save", "number": n, "present": ["dog"]})
    told = [lw.Answer.to(question, {"dog"}) for question in expected]
    assert list(labeller.campaign.answers) == told
    again = make()
    again.tell(told)
    assert labeller.state()["item"] == again.ask(3)[0].item  # learnt anew after a batch


def test_a_second_press_changes_nothing():
    labeller = Labeller(make())
    for _ in range(2):
        labeller.do({"do": "save", "number": 0, "present": ["cat"]})
    assert len(labeller.campaign.answers) == 1 and labeller.state()["number"] == 1


def test_going_back_corrects():
    labeller = Labeller(make())
    labeller.save(0, ["cat"])
    labeller.do({"do": "back", "number": 1})
    assert labeller.state()["chosen"] == ["cat"]
    labeller.save(0, ["cat"])  # the same again: nothing to tell
    assert len(labeller.campaign.answers) == 1
    labeller.back()
    labeller.save(0, ["dog"])
    last = labeller.campaign.answers[-1]
    assert last.correction and last.values == {"cat": False, "dog": True, EVIL: False}
    assert labeller.state()["answered"] == 1


def test_skipped_items_come_no_more_until_nothing_is_left():
    labeller = Labeller(make(2), batch=1)
    skipped = labeller.state()["item"]
    labeller.do({"do": "skip", "number": 0})
    assert labeller.state()["item"] != skipped
    labeller.save(1, [])
    assert labeller.state() == {"number": 2, "answered": 1, "done": True}
    labeller.save(2, ["cat"])  # nothing is shown, nothing is saved
    assert len(labeller.campaign.answers) == 1


def test_what_is_wrong_is_told():
    with pytest.raises(ValueError, match="batch must be at least 1"):
        Labeller(make(), batch=0)
    with pytest.raises(ValueError, match=r"labels \['bird'\] were not asked about"):
        Labeller(make()).save(0, ["bird"])


def test_the_widget_speaks_to_the_campaign():
    pytest.importorskip("anywidget", reason="needs the extra notebook")
    campaign = make()
    widget = campaign.widget(batch=2)
    assert widget.state["number"] == 0
    widget._handle_custom_msg({"do": "save", "number": 0, "present": ["cat"]}, [])
    assert campaign.answers[0].values["cat"] and widget.state["number"] == 1


def test_without_anywidget_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "anywidget", None)
    with pytest.raises(ImportError, match=r"labelwise\[notebook\]"):
        make().widget()


PAGE = """<div id=here></div><script type=module>
const source = SOURCE;
const { default: widget } = await import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
window.sent = [];
let state = STATE, draw;
const model = { get: () => state, on: (_, f) => { draw = f; }, off: () => {}, send: (m) => window.sent.push(m) };
widget.render({ model, el: document.getElementById("here") });
window.next = (s) => { state = s; draw(); };
window.ready = true;
</script>"""


@pytest.mark.slow
def test_the_script_in_a_browser():
    import json

    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("needs Chromium")
    labeller = Labeller(make())
    page_text = PAGE.replace("SOURCE", json.dumps(SCRIPT.read_text(encoding="utf-8")).replace("</", "<\\/"))
    page_text = page_text.replace("STATE", json.dumps(labeller.state()).replace("</", "<\\/"))
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_content(page_text)
        page.wait_for_function("window.ready")
        assert page.evaluate("window.hit") is None and page.locator("img").count() == 0  # names and texts are text
        page.locator("button[data-label=cat]").click()
        page.keyboard.press("Tab")
        box = page.locator("input")
        box.fill("do")
        assert page.locator("button[data-label=dog]").is_visible()
        box.press("Enter")
        box.press("Enter")
        sent = page.evaluate("window.sent")
        assert [(m["do"], m["number"], sorted(m["present"])) for m in sent] == [("save", 0, ["cat", "dog"])]
        labeller.do(sent[0])
        page.evaluate("s => window.next(s)", labeller.state())
        assert "1 answered" in page.inner_text("#here")
        assert page.locator("button[aria-pressed=true]").count() == 0
        page.get_by_text("Skip").click()
        assert page.evaluate("window.sent[1].do") == "skip"
        page.evaluate("window.next({number: 9, answered: 2, done: true})")
        assert "Nothing is left to ask." in page.inner_text("#here")
        browser.close()
    assert labeller.campaign.answers[0].values == {"cat": True, "dog": True, EVIL: False}
