"""The time that the page measures is the time that a person took: a robot with a clock of its own, in Chromium."""

from __future__ import annotations

import pytest

from labelling.web.browsing import CHROMIUM, LabellingTab, serving

pytest.importorskip("playwright.sync_api", reason="needs playwright, a test dependency")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine to test the page with")
ROBOT = """async (paces) => {
  const name = document.getElementById("item-name");
  const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const press = (key) => {
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  };
  const see = (seen) => {
    Object.defineProperty(document, "visibilityState", { value: seen, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  };
  const took = [];
  let shown = null;
  const note = () => (shown = performance.now());
  const watch = new MutationObserver(() => requestAnimationFrame(() => requestAnimationFrame(note)));
  watch.observe(name, { childList: true, characterData: true, subtree: true });
  press("s"); // the first item was on screen before the robot came
  for (const { before, hidden, after } of paces) {
    while (shown === null) await wait(5);
    const began = shown;
    shown = null;
    await wait(before);
    let away = 0;
    if (hidden) {
      see("hidden");
      const left = performance.now();
      await wait(hidden);
      away = performance.now() - left;
      see("visible");
    }
    await wait(after);
    press("1");
    const saved = performance.now();
    press("Enter");
    took.push((saved - began - away) / 1000);
  }
  return took;
}"""
AWAY = """(hours) => {
  const see = (seen) => {
    Object.defineProperty(document, "visibilityState", { value: seen, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  };
  const real = performance.now.bind(performance);
  if (hours.hidden) see("hidden");
  performance.now = () => real() + 3600000 * hours.away;
  if (hours.hidden) see("visible");
}"""  # the clock of the page, and not that of keys, goes on by some hours


@pytest.fixture
def ready(make):
    project = make(ready=40, lease_seconds=7200.0)
    project.refresh()
    return project


def answers(project):
    return [event for event in project.events() if event.kind == "answer"]


@pytest.mark.slow
def test_the_times_of_a_paced_robot_are_stored_within_5_percent(context, ready):
    """Items are fetched three ahead: time before they are shown does not count, nor does a hidden tab."""
    paces = [(1200, 0, 900), (700, 0, 700), (1500, 2500, 1000), (2500, 0, 500), (900, 0, 900)]
    with serving(ready) as address:
        tab = LabellingTab(context, address)
        steps = [dict(zip(("before", "hidden", "after"), each, strict=True)) for each in paces]
        took = tab.page.evaluate(ROBOT, steps)
        tab.wait_for_saved(len(paces) + 1)
        assert tab.errors == []
    stored = [event.timing.seconds for event in answers(ready)]
    assert stored == pytest.approx(took, rel=0.05)
    assert all(event.timing.question == "item" and event.timing.by_key == 1 for event in answers(ready))


@pytest.mark.parametrize(("hidden", "least", "most"), [(True, 0.2, 30.0), (False, 60.0, 90.0)])
@pytest.mark.slow
def test_a_tab_open_over_night_counts_for_a_minute_at_most(context, ready, hidden, least, most):
    with serving(ready) as address:
        tab = LabellingTab(context, address)
        sent = []
        tab.page.on("request", lambda request: sent.append(request.post_data_json) if "answer" in request.url else None)
        tab.page.evaluate(AWAY, {"hidden": hidden, "away": 9})
        tab.press("1", "Enter")
        tab.wait_for_saved(1)
    assert least <= sent[0]["timing"]["seconds"] <= most
    assert answers(ready)[0].timing.seconds < 50.0  # and at most for the age of the lease


def test_how_labels_were_picked_is_counted(context, ready):
    for number in range(6):  # something to believe
        lease = ready.service.ask("bob")[0]
        ready.service.answer(lease.token, {"left": True, "low": number % 2 == 0, "far": False})
    ready.refresh()
    with serving(ready) as address:
        tab = LabellingTab(context, address)
        tab.page.click('.row[data-name="left"] .label-name')
        tab.press("/")
        tab.page.keyboard.type("far")
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_timeout(400)  # an Enter at once after it does not count
        tab.press("Escape", "Enter")
        tab.wait_for_saved(1)
    timing = answers(ready)[-1].timing
    assert (timing.by_search, timing.by_key + timing.by_suggestion) == (1, 1)


@pytest.mark.slow
def test_pairs_and_further_labels_of_an_open_item_are_told_apart(context, make):
    project = make(strategy="uncertainty_pairs", ready=900)
    project.refresh()
    with serving(project) as address:
        tab = LabellingTab(context, address)
        kinds, items = [], []
        for number in range(1, 7):
            items.append(tab.item)
            tab.press("y")
            tab.wait_for_saved(number)
            tab.wait_for_question()
        assert tab.errors == []
    kinds = [event.timing.question for event in answers(project)]
    again = [before == now for before, now in zip([None, *items], items, strict=False)]
    assert kinds == ["further" if same else "pair" for same in again] and "pair" in kinds


@pytest.mark.slow
def test_an_answer_taken_back_before_it_was_sent_keeps_its_time(context, ready):
    with serving(ready) as address:
        tab = LabellingTab(context, address)
        tab.page.wait_for_timeout(1500)
        context.set_offline(True)
        item = tab.item
        tab.press("1", "Enter")
        tab.page.wait_for_selector("#queue:has-text('1 answer waits')")
        tab.press("z")
        tab.page.wait_for_selector(f"#item-name:text-is('{item}')")
        tab.press("z", "2", "Enter")
        context.set_offline(False)
        tab.wait_for_saved(1)
    (event,) = answers(ready)
    assert event.item == item and event.timing.seconds > 1.5
