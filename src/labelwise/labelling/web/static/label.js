// The labelling view: which question is shown, what was said of it, and where it goes.

import { AddBox } from "./adding.js";
import { ActiveClock } from "./clock.js";
import { announce, markFor, showItem } from "./item.js";
import { Keys } from "./keys.js";
import { LabelList, percent } from "./labels.js";
import { Failure, Outbox, Server, storage } from "./outbox.js";
import { Guidelines, KeySettings, MeaningDialog } from "./settings.js";

const $ = (id) => document.getElementById(id);
const { project, who, leaseSeconds, mostVerified } = document.body.dataset;
const AHEAD = 3; // items to have questions about: the one shown and what comes next, also without a connection
const POLL = 1500; // milliseconds between looks for questions where there are none
const GUARD = 250; // milliseconds that an item must be on screen before a key or a click says anything of it
const MOST_GIVEN_BACK = 200; // leases in one request
const MOST_KEPT = 200; // answers of which the page knows the marks, for undo
const FEW = { least: 3, most: 8, unbelieved: 30 }; // questions one by one
const SUGGESTED = 0.1; // probability from which a label is shown as likely or possible
const VALUE = { yes: true, no: false, unsure: null };
const NOTHING_SAID = "There is nothing new to save. Say yes or no, or skip the rest of this item; what was saved stays.";
const ENTER_DOUBLED = "Enter came at once after the one that marked a label, so it does not count. Press it again to save.";
const NOTHING_MARKED =
  "Nothing is marked. Press Shift+Enter (or the button “No label fits”) to save that no label applies.";
const ALSO_TOO_EARLY = "That came at once after the item, so it does not count. Look at the labels, then do it again.";
const TOO_EARLY = "That came before the item was on screen, so it does not count. Look at the item, then do it again.";

const server = new Server();
const remembered = (name) => `labelwise:${project}:${who}:${name}`;
const state = {
  questions: [], // those that are ours and not answered, in order
  wholes: new Map(), // all open labels of an item, by its name
  unwanted: [], // leases to give back: of a label that another lease has, or with nothing left to ask
  said: JSON.parse(storage.get(remembered("marks")) ?? "{}"), // by item and label, not sent yet
  trail: { item: null, steps: [] }, // what was said of the item on the page, in order, to take it back step by step
  done: [], // what was answered or skipped here, for undo
  mode: storage.get(remembered("mode")),
  place: 0, // of the question shown, one by one
  shown: null, // what is on the page: mode, item and labels or leases
  item: null, // whose text is on the page
  paintedAt: null, // when it came on screen
  searchedAt: -Infinity, // when a label was marked by Enter in a search, if that was the last key
  picked: new Map(), // how labels of the item on the page were picked: by_key, by_search or by_suggestion
  isFirst: true, // nothing was sent about the item since it came on screen
  also: null, // labels asked about once more before the item is saved: the item, what was marked, names, those that are there
  before: 0, // seconds spent on the item before it was reopened
  saved: 0,
  busy: false,
};
const clock = new ActiveClock();
let pressedAt = 0; // when the key or button under way was pressed
const outbox = new Outbox(server, project, who, () => ({ items: AHEAD, have: state.questions.map((q) => q.lease) }), {
  saved: (entry, reply) => {
    state.saved += 1;
    const done = state.done.find((each) => each.lease === entry.lease);
    if (done) done.event = reply.event;
    if (reply.notices.length) tell($("refused"), reply.notices.join(" "));
    showSaved();
    take(reply);
  },
  refused: (entry, message) => {
    const done = state.done.find((each) => each.lease === entry.lease);
    state.done = state.done.filter((each) => each !== done);
    if (done) state.said = { ...state.said, [done.item]: done.said }; // in case it is asked again
    tell($("refused"), `Item ${entry.item ?? entry.question.item} was not saved: ${message}.`);
    look();
  },
  changed: () => showSaved(),
});
const keys = new Keys(remembered("keys"));
const meanings = new Map(); // what labels mean, by name
const list = new LabelList(
  {
    may: () => counts(),
    say: (changes, isFound) => {
      remember(changes.map(([row, say]) => [row.name, say]));
      for (const [row] of changes) notePick(row, isFound);
      showActions();
    },
    searched: () => (state.searchedAt = pressedAt),
    enter: (event) => enter(event),
    here: (label) => markFor(label),
  },
  keys,
  meanings,
);
const meaningDialog = new MeaningDialog(keys, meanings, () => list.draw());
const guidelines = new Guidelines(remembered("guidelines"));
new KeySettings(keys, () => state.questions.length && isWhole() && list.draw());
const addBox = new AddBox({
  rows: () => {
    const said = marks();
    return state.questions.length ? labelsOf(state.item).filter(({ name }) => !(name in said)) : [];
  },
  finder: list.finder,
  add: (name) => addLabel(name),
  enter: (event) => enter(event),
  leave: () => $("asked").focus({ preventScroll: true }),
});

// -- questions --------------------------------------------------------------------------------------------------------

// What the server says is ours: known ones keep their place, new ones come after them.
function take(reply) {
  const known = new Map(state.questions.map((question) => [question.lease, question]));
  for (const question of reply.questions) known.set(question.lease, learn(question));
  const ours = new Set(reply.yours);
  const sent = outbox.leases();
  state.questions = askable([...known.values()].filter((q) => ours.has(q.lease) && !sent.has(q.lease)));
  state.waiting = reply.waiting;
  const items = new Set([...state.questions, ...state.done].map(({ item }) => item));
  for (const item of state.wholes.keys()) if (!items.has(item)) state.wholes.delete(item);
  show();
  if (state.unwanted.length) lookSoon(POLL / 10);
}

// Note all labels of an item, which come with one of the questions about it.
function learn(question) {
  const all = question.whole ?? question.labels;
  if (all.length) state.wholes.set(question.item, all);
  return question;
}

// No label of an item is asked about twice, whatever the leases say; those that would do it are given back.
function askable(questions) {
  const had = new Map();
  const kept = [];
  for (const question of questions) {
    if (!had.has(question.item)) had.set(question.item, answeredHere(question.item));
    const names = had.get(question.item);
    const labels = question.labels.filter(({ name }) => !names.has(name));
    for (const { name } of labels) names.add(name);
    if (labels.length) kept.push({ ...question, labels });
    else state.unwanted.push(question.lease);
  }
  return kept;
}

// Labels of an item that were answered on this page.
function answeredHere(item) {
  return new Set(state.done.filter((done) => done.item === item).flatMap((done) => Object.keys(done.values)));
}

let lookAgain = null;
function lookSoon(wait) {
  clearTimeout(lookAgain);
  lookAgain = setTimeout(look, wait);
}

async function look() {
  clearTimeout(lookAgain);
  const back = state.unwanted.slice(0, MOST_GIVEN_BACK);
  try {
    const have = state.questions.map((q) => q.lease);
    const reply = await server.post("/api/ask", { items: AHEAD, have, give_back: back });
    state.unwanted = state.unwanted.filter((lease) => !back.includes(lease));
    take(reply);
    if (!state.unwanted.length) lookSoon(state.questions.length ? 1000 * Math.min(leaseSeconds / 3, 60) : POLL);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (!state.questions.length) {
      const kept = outbox.entries().length ? "Waiting for the connection; your answers are kept." : "No connection to the server. Trying again …";
      state.waiting = error.status === 401 ? signedOut() : kept;
      show();
    }
    lookSoon(POLL);
  }
}

const bundle = () => state.questions.filter((question) => question.item === state.questions[0]?.item);
const bare = (said) => Object.assign(Object.create(null), said); // a label may be called "constructor"
const saidOf = (item) => bare(Object.hasOwn(state.said, item) ? state.said[item] : {});

// Every label of an item that may be answered: those asked about and those that nobody asked about.
function labelsOf(item) {
  const had = answeredHere(item);
  const asked = state.questions.filter((question) => question.item === item).flatMap((question) => question.labels);
  const rows = new Map();
  for (const row of [...(state.wholes.get(item) ?? []), ...asked]) {
    if (!had.has(row.name) && !rows.has(row.name)) rows.set(row.name, row);
  }
  return [...rows.values()];
}

// What is said of the item on the page and not sent yet.
function marks() {
  const item = state.questions[0]?.item;
  const open = new Set(labelsOf(item).map(({ name }) => name));
  return bare(Object.fromEntries(Object.entries(saidOf(item)).filter(([name]) => open.has(name))));
}

// What was said of labels at once is taken back at once.
function remember(changes) {
  const { item } = state.questions[0];
  const said = saidOf(item);
  state.trail.steps.push(changes.map(([label]) => [label, said[label] ?? null]));
  setMarks(item, changes);
}

// How a label was picked: found by typing, among those suggested, or else by a key or a click.
function notePick({ name, p }, isFound) {
  state.picked.set(name, isFound ? "by_search" : (p ?? 0) >= SUGGESTED ? "by_suggestion" : "by_key");
}

// The time since the item was shown or last answered about, and how what is said of it was picked.
function timing(says) {
  const taken = { seconds: clock.lap(), question: isWhole() ? "item" : state.isFirst ? "pair" : "further" };
  for (const way of ["by_key", "by_search", "by_suggestion"]) {
    taken[way] = Object.entries(says).filter(([name, say]) => say === "yes" && state.picked.get(name) === way).length;
  }
  state.isFirst = false;
  return taken;
}

function setMarks(item, changes) {
  const said = saidOf(item);
  for (const [label, say] of changes) {
    if (say === null) delete said[label];
    else said[label] = say;
  }
  keep(item, said);
}

// Keep what is said of an item, also over a reload; items that are no longer ours are forgotten.
function keep(item, said) {
  const ours = new Set(state.questions.map((question) => question.item));
  const kept = Object.entries(state.said).filter(([name]) => name !== item && ours.has(name));
  if (Object.keys(said).length) kept.push([item, said]);
  state.said = Object.fromEntries(kept);
  storage.set(remembered("marks"), JSON.stringify(state.said));
}

// The few questions about an item worth asking one by one: the most doubtful labels of a whole item, or its pairs.
function steps() {
  return bundle().flatMap((question) => {
    const labels = question.labels.map((row) => ({ lease: question.lease, ...row }));
    const again = labels.filter(({ name }) => question.again?.has(name)); // asked before, and taken back
    if (again.length) return again;
    if (labels.length === 1) return labels;
    if (labels.every(({ p }) => p === null)) return labels.slice(0, FEW.unbelieved);
    const byDoubt = labels.sort((a, b) => Math.abs(a.p - 0.5) - Math.abs(b.p - 0.5));
    return byDoubt.filter(({ p }, place) => place < FEW.least || (place < FEW.most && p > 0.05 && p < 0.95));
  });
}

const mode = () => state.mode ?? (state.questions[0]?.labels.length === 1 || state.questions[0]?.again ? "single" : "whole");
const isWhole = () => mode() === "whole";

// -- answering --------------------------------------------------------------------------------------------------------

// Whether what is done now counts: the item has been on screen for a moment.
function counts() {
  if (state.busy || !state.questions.length) return false;
  if (state.paintedAt !== null && pressedAt >= state.paintedAt + GUARD) return true;
  tell($("hint"), TOO_EARLY);
  return false;
}

// Send what was said in answer to these questions, which are about one item; the first has the lease that it goes by.
function send(questions, kind, says, options = {}) {
  const [{ lease, item }] = questions;
  const leases = questions.map((question) => question.lease);
  const values = Object.fromEntries(Object.entries(says).map(([label, say]) => [label, VALUE[say]]));
  const asked = isWhole() ? null : new Set(steps().map(({ name }) => name));
  const said = saidOf(item);
  const { verified, ...others } = options;
  const taken = others.taken ?? timing(says);
  const all = { ...values, ...verified?.values };
  state.done.push({ lease, item, kind, questions, said, steps: state.trail.steps, asked, taken, event: null, ...others, values: all });
  state.done = state.done.slice(-MOST_KEPT);
  state.questions = state.questions.filter((other) => !leases.includes(other.lease));
  state.trail = { item, steps: [] };
  keep(item, {});
  outbox.add({ kind, lease, leases, values, item, timing: taken, verified, whole: options.isPart !== true });
}

// Answer several questions about the item, or more than they ask about, in one request.
function sendItem(says, questions = bundle(), options = {}) {
  const asked = new Set(questions[0].labels.map(({ name }) => name));
  const isPlain = questions.length === 1 && Object.keys(says).every((name) => asked.has(name));
  send(questions, isPlain ? "answer" : "answer_item", says, options);
}

function save() {
  if (!counts()) return;
  if (state.also) return saveVerified();
  if (pressedAt < state.searchedAt + GUARD) return tell($("hint"), ENTER_DOUBLED);
  const rest = isWhole() ? $("rest").value : "open";
  const says = marks();
  if (Object.keys(says).length === 0) {
    tell($("hint"), isWhole() && rest === "no" ? NOTHING_MARKED : NOTHING_SAID);
    return;
  }
  saveWith(says, rest);
}

// An item that has none of the labels: never by Enter alone, which may be doubled.
function saveNone() {
  if (state.also) return save();
  if (!isWhole() || Object.keys(marks()).length) save();
  else if (counts()) saveWith({}, "no");
}

function saveWith(says, rest) {
  if (rest === "no" && askAlso(says)) return;
  sendItem(withRest(says, rest));
  next();
}

// What is marked and, where the rest counts as no, that of every other open label.
function withRest(says, rest) {
  const unmarked = rest === "no" ? labelsOf(state.item).filter(({ name }) => !(name in says)) : [];
  return { ...says, ...Object.fromEntries(unmarked.map(({ name }) => [name, "no"])) };
}

// Ask once more about likely labels that are not marked; whether there are any.
function askAlso(says) {
  const [question, ...others] = bundle();
  const open = new Set(question.labels.map(({ name }) => name));
  if (!isWhole() || others.length || labelsOf(state.item).some(({ name }) => !open.has(name))) return false;
  const names = (question.also ?? []).filter((name) => open.has(name) && !(name in says)).slice(0, Number(mostVerified));
  if (!names.length) return false;
  state.also = { item: state.item, says, names, yes: new Set(), taken: timing(says), at: performance.now() };
  showAlso();
  return true;
}

function toggleAlso(place) {
  const name = state.also.names[place];
  if (name === undefined || !mayVerify()) return;
  if (!state.also.yes.delete(name)) state.also.yes.add(name);
  showAlso();
}

// Whether the labels have been on screen for a moment: the Enter that brought them may be doubled.
function mayVerify() {
  if (pressedAt >= state.also.at + GUARD) return true;
  tell($("hint"), ALSO_TOO_EARLY);
  return false;
}

function saveVerified() {
  if (!mayVerify()) return;
  const { says, names, yes, taken } = state.also;
  const values = Object.fromEntries(names.map((name) => [name, yes.has(name)]));
  const timing = { seconds: clock.lap(), question: "further", by_suggestion: yes.size };
  closeAlso();
  const rest = Object.entries(withRest(says, "no")).filter(([name]) => !(name in values));
  if (rest.length) sendItem(Object.fromEntries(rest), bundle(), { taken, verified: { values, timing } });
  else sendItem(Object.fromEntries(names.map((name) => [name, yes.has(name) ? "yes" : "no"])), bundle(), { taken });
  next();
}

function closeAlso() {
  state.also = null;
  showAlso();
}

// Back to the item, with its time.
function leaveAlso() {
  clock.add(state.also.taken.seconds);
  closeAlso();
  state.isFirst = true;
  list.focus();
}

function enter(event) {
  if (event.shiftKey) saveNone();
  else save();
}

function skip() {
  if (!counts()) return;
  if (state.also) leaveAlso();
  const asked = bundle();
  if (isWhole()) send(asked, asked.length === 1 ? "skip" : "skip_item", {});
  else skipStep(asked.find((question) => question.lease === steps()[state.place].lease));
  next();
}

// One question skipped; labels that were added to the item are not.
function skipStep(question) {
  const asked = new Set(question.labels.map(({ name }) => name));
  const added = Object.fromEntries(Object.entries(marks()).filter(([name]) => !asked.has(name)));
  if (Object.keys(added).length) sendItem(added, withAnswered(question, added), { isPart: true });
  else send([question], "skip", {});
}

// A question, and the others about single labels of the item that are answered, too.
function withAnswered(question, says) {
  const others = bundle().filter((q) => q.lease !== question.lease && q.labels.every(({ name }) => name in says));
  return [question, ...others];
}

// One question answered: the lease is sent when nothing is left to ask about it, with the labels that were added.
function sayStep(say) {
  const asked = steps()[state.place];
  if (!asked || !counts()) return;
  remember([[asked.name, say]]);
  const says = marks();
  const open = steps().filter(({ lease, name }) => lease === asked.lease && !(name in says));
  if (open.length === 0) {
    const question = state.questions.find((each) => each.lease === asked.lease);
    sendItem(says, withAnswered(question, says), { isPart: true, byStep: true });
    next();
  } else {
    const after = steps().findIndex(({ name }, place) => place > state.place && !(name in says));
    state.place = after >= 0 ? after : firstOpenStep();
    showSteps();
  }
}

function firstOpenStep() {
  const said = marks();
  return Math.max(0, steps().findIndex(({ name }) => !(name in said)));
}

// Yes to a label that was found by typing, one by one; whether it counted.
function addLabel(name) {
  if (!counts()) return false;
  state.searchedAt = pressedAt;
  const place = steps().findIndex((asked) => asked.name === name);
  if (place >= 0) {
    state.place = place;
    sayStep("yes");
  } else {
    remember([[name, "yes"]]);
    notePick({ name }, true);
    showSteps();
  }
  return true;
}

function next() {
  $("refused").hidden = true;
  show();
  if (!state.questions.length) look();
}

// -- taking back ------------------------------------------------------------------------------------------------------

// The last thing said of the item on the page or, where nothing is said of it, the last answer or skip.
async function undo() {
  if (state.busy) return;
  $("refused").hidden = true;
  if (state.also) return leaveAlso();
  if (takeStepBack()) return;
  state.busy = true;
  try {
    const last = state.done.at(-1);
    const questions = await takeBack(last);
    if (questions) reopen(last, questions);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const told = error.status === 0 ? "There is no connection; what is saved can be taken back when it is there" : error.message;
    tell($("refused"), `${told}.`);
  } finally {
    state.busy = false;
  }
}

function takeStepBack() {
  const step = state.questions.length ? state.trail.steps.pop() : undefined;
  if (!step) return false;
  setMarks(state.item, step);
  const names = step.map(([name]) => name);
  if (isWhole()) list.repaint(names);
  else {
    const place = steps().findIndex(({ name }) => names.includes(name));
    state.place = place >= 0 ? place : state.place;
    showSteps();
  }
  $("saved").textContent = `Taken back: ${names.join(", ")}`;
  showActions();
  return true;
}

// The questions that an answer or skip was to, ours again; null where it was refused meanwhile.
async function takeBack(last) {
  if (!last) return [await server.post("/api/undo", {})];
  if (withdrawn(last)) return last.questions;
  await outbox.quiet();
  if (withdrawn(last)) return last.questions;
  if (!state.done.includes(last)) return null;
  return [await server.post("/api/undo", { event: last.event })];
}

// Whether an answer could be taken out before it was sent; the time it took is then sent with the next one.
function withdrawn(last) {
  if (!outbox.withdraw(last.lease)) return false;
  state.before = last.taken?.seconds ?? 0; // of what was verified it is not: that is asked anew
  return true;
}

function reopen(last, questions) {
  const { item } = questions[0];
  state.done = state.done.filter((done) => done !== last);
  const taken = last?.byStep ? last.steps.at(-1) : undefined;
  const again = questions.map((question) => ({ ...learn(question), again: last?.asked ?? null }));
  const leases = new Set(again.map((question) => question.lease));
  state.questions = askable([...again, ...state.questions.filter((other) => !leases.has(other.lease))]);
  $("saved").textContent = "Taken back";
  if (!state.questions.some((question) => leases.has(question.lease))) {
    show();
    tell(
      $("refused"),
      `Your answer about item ${item} is taken back. Others have answered the rest of it meanwhile, so nothing is left to ask about it. To answer all the same, open it in Browse.`,
    );
    lookSoon(0);
    return;
  }
  state.trail = { item, steps: (last?.steps ?? []).filter((step) => step !== taken) };
  keep(item, last?.said ?? {});
  if (taken) setMarks(item, taken);
  state.shown = null;
  show();
}

// -- showing ----------------------------------------------------------------------------------------------------------

function show() {
  const question = state.questions[0];
  if (state.also && state.also.item !== question?.item) closeAlso();
  $("desk").hidden = $("actions").hidden = !question;
  $("waiting").hidden = Boolean(question);
  for (const each of ["whole", "single"]) {
    $(`mode-${each}`).setAttribute("aria-pressed", String(mode() === each));
    $(each).hidden = mode() !== each;
  }
  if (!question) {
    state.shown = state.item = state.paintedAt = null;
    clock.stop();
    delete document.documentElement.dataset.ready;
    $("waiting").textContent = state.waiting ?? "The next question is on its way …";
    return;
  }
  const parts = isWhole() ? labelsOf(question.item).map(({ name }) => name) : bundle().map((q) => q.lease);
  const key = JSON.stringify([mode(), question.item, parts]);
  if (state.shown === key) return;
  const isNewItem = state.item !== question.item;
  state.shown = key;
  state.item = question.item;
  if (state.trail.item !== question.item) {
    state.trail = { item: question.item, steps: Object.keys(marks()).map((label) => [[label, null]]) };
  }
  state.place = firstOpenStep();
  if (isNewItem) {
    state.picked.clear();
    clock.stop();
    showItem(question);
    announce(question, labelsOf(question.item).length);
    addBox.clear();
    document.querySelector(".item").scrollTop = 0;
    if (window.scrollY > 0) window.scrollTo(0, 0);
    waitUntilPainted();
  } else {
    clock.add(state.before);
    state.before = 0;
  }
  if (isWhole()) showList();
  else showSteps();
  showActions();
  document.documentElement.dataset.question = question.lease; // for whoever measures
}

// Note when the item is on screen: its pictures are there, and two frames have begun since it was put in.
async function waitUntilPainted() {
  const page = document.documentElement;
  const turn = (state.turn = {});
  state.paintedAt = null;
  delete page.dataset.ready;
  await Promise.allSettled([...$("pictures").querySelectorAll("img")].map((image) => image.decode()));
  for (let frame = 0; frame < 2; frame += 1) await new Promise((resolve) => requestAnimationFrame(resolve));
  if (state.turn !== turn) return;
  state.paintedAt = performance.now();
  clock.start();
  clock.add(state.before);
  state.before = 0;
  state.isFirst = true;
  setTimeout(() => {
    if (state.turn === turn) page.dataset.ready = state.item ?? ""; // for whoever presses keys as soon as they count
  }, GUARD);
}

function showList() {
  markFor(null);
  list.show(labelsOf(state.item), () => saidOf(state.item));
}

// The labels to verify in the place of the list, or the list again.
function showAlso() {
  const { names, yes } = state.also ?? { names: [], yes: new Set() };
  $("whole").toggleAttribute("data-also", Boolean(state.also));
  $("also").hidden = !state.also;
  const rows = names.map((name, place) => {
    const button = document.createElement("button");
    const key = document.createElement("kbd");
    key.textContent = String(place + 1);
    button.type = "button";
    button.dataset.place = String(place);
    button.setAttribute("aria-pressed", String(yes.has(name)));
    button.append(key, ` ${name}`);
    const row = document.createElement("li");
    row.append(button);
    return row;
  });
  $("also-labels").replaceChildren(...rows);
  if (state.also) $("also-title").focus({ preventScroll: true });
  showActions();
}

function showSteps() {
  const all = steps();
  const asked = all[state.place];
  if (!asked) return;
  const said = marks();
  const earlier = state.done.filter((done) => done.item === state.item && Object.keys(done.values).length);
  const answered = earlier.reduce((sum, done) => sum + done.questions.length, 0);
  const number = answered + all.length;
  $("step").textContent = number === 1 ? "One question" : `Question ${answered + state.place + 1} of ${number} about this item`;
  $("asked").textContent = asked.name;
  showBelief(asked);
  const say = said[asked.name];
  for (const button of document.querySelectorAll("#single button[data-say]")) {
    button.setAttribute("aria-pressed", String(button.dataset.say === say));
  }
  const names = new Set(all.map(({ name }) => name));
  const added = Object.entries(said).filter(([name]) => !names.has(name));
  const lines = [
    ...earlier.flatMap((done) => Object.entries(done.said).map(([name, told]) => step(name, told, false))),
    ...added.map(([name, told]) => step(name, `${told}, added`, false)),
    ...all.map(({ name }, place) => step(name, said[name], place === state.place)),
  ];
  $("steps").replaceChildren(...lines);
  $("steps").hidden = lines.length === 1;
  markFor(asked.name);
  $("asked").focus({ preventScroll: true });
  showActions();
}

function step(name, say, isCurrent) {
  const line = document.createElement("li");
  const told = document.createElement("span");
  line.textContent = name;
  told.textContent = say ?? "";
  line.append(told);
  if (isCurrent) line.setAttribute("aria-current", "step");
  return line;
}

function showBelief({ p, why }) {
  const track = document.createElement("div");
  track.className = "track";
  const fill = document.createElement("div");
  fill.className = "fill";
  fill.style.setProperty("--p", p ?? 0);
  track.append(fill);
  $("belief").hidden = p === null;
  $("belief").replaceChildren(`Believed ${percent(p)}${why ? `, ${why}` : ""}`, track);
}

function showActions() {
  const says = Object.values(marks());
  const total = state.questions.length ? labelsOf(state.item).length : 0;
  const marked = ["yes", "no", "unsure"].map((say) => [say, says.filter((each) => each === say).length]);
  const told = marked.filter(([, count]) => count).map(([say, count]) => `${count} ${say}`);
  $("rest-line").hidden = !isWhole() || state.also !== null;
  $("rest-line").firstChild.textContent = `${told.join(", ") || "none marked"}; the other ${total - says.length}: `;
  $("save").disabled = !isWhole() && says.length === 0;
  $("none").hidden = !isWhole() || state.also !== null || says.length > 0 || $("rest").value !== "no";
}

function showSaved() {
  const waiting = outbox.entries().length;
  const line = $("saved");
  line.dataset.state = waiting ? "waiting" : state.saved ? "saved" : "none";
  line.dataset.saved = String(state.saved);
  if (waiting) line.textContent = outbox.trouble ? `${waiting} waiting to be sent` : "saving …";
  else line.textContent = state.saved ? `✓ saved, ${state.saved} so far` : "Nothing answered on this page yet";
  const trouble = outbox.trouble;
  $("queue").hidden = !trouble;
  if (trouble) {
    const isOut = trouble.status === 401 || trouble.status === 403;
    const isGone = trouble.status === 0 ? "No connection to the server." : `The server has trouble: ${trouble.message}.`;
    const what = isOut ? signedOut() : isGone;
    const answers = waiting === 1 ? "1 answer waits" : `${waiting} answers wait`;
    const rest = state.questions.length ? "; you can go on." : " when the connection is back.";
    tell($("queue"), `${what} ${answers} in this browser and will be sent${rest}`);
  }
}

const signedOut = () => "You are signed out: open your link, or the address that labelwise serve prints, in another tab.";

function tell(box, text) {
  box.textContent = text;
  box.hidden = false;
}

// -- keys and buttons -------------------------------------------------------------------------------------------------

function setMode(wanted) {
  if (state.also) leaveAlso();
  state.mode = wanted;
  storage.set(remembered("mode"), wanted);
  show();
}

function moveStep(change) {
  state.place = Math.min(Math.max(state.place + change, 0), steps().length - 1);
  showSteps();
}

function alsoKey(key) {
  if (/^[1-9]$/.test(key)) toggleAlso(Number(key) - 1);
  else if (key === "Escape") leaveAlso();
  else return false;
  return true;
}

function stepKey(key) {
  const command = keys.command(key);
  if (command in VALUE) sayStep(command);
  else if (key === "ArrowDown" || key === "ArrowRight") moveStep(1);
  else if (key === "ArrowUp" || key === "ArrowLeft") moveStep(-1);
  else if (command === "find") $("add").focus();
  else return false;
  return true;
}

const ANYWHERE = {
  skip,
  undo,
  mode: () => setMode(isWhole() ? "single" : "whole"),
  help: () => $("help").showModal(),
  about: () => openMeaning(),
  guidelines: () => guidelines.toggle(),
};
const MOVES = ["ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight", "Tab"];

for (const kind of ["keydown", "click"]) {
  const note = (event) => {
    pressedAt = event.timeStamp;
    $("hint").hidden = true; // it was about what was done before
    if (event.key !== "Enter") state.searchedAt = -Infinity; // only the next key can be the same one, doubled
  };
  document.addEventListener(kind, note, { capture: true });
}
document.addEventListener("keydown", (event) => {
  const at = document.activeElement;
  if (document.querySelector("dialog[open]")) return;
  const isBox = at === $("search");
  if (!isBox && ["INPUT", "SELECT", "TEXTAREA"].includes(at?.tagName)) return;
  const key = keys.read(event, isBox ? at.value : null);
  if (key === null) return;
  if (event.repeat && !MOVES.includes(key) && !(isBox && key === "Backspace")) return event.preventDefault(); // a key held down answers once
  const pressesItself = ["BUTTON", "A", "SUMMARY"].includes(at?.tagName) && ["Enter", " "].includes(key);
  if (!pressesItself && dispatch(key, event)) event.preventDefault();
});

// A page of a long text, or of the window where the item has no frame of its own.
function scrollItem(pages) {
  const item = document.querySelector(".item");
  const frame = item.scrollHeight > item.clientHeight + 1 ? item : window;
  frame.scrollBy({ top: 0.9 * pages * (frame.clientHeight ?? innerHeight) });
}

// What the label that one is on, or asked about, means.
function openMeaning() {
  const name = isWhole() ? list.place?.dataset.name : $("asked").textContent;
  if (state.questions.length && name) meaningDialog.open(name, list.pathOf(name));
}

// Do what a key says; whether it says anything.
function dispatch(key, event) {
  const anywhere = ANYWHERE[keys.command(key)];
  if (anywhere) anywhere();
  else if (key === "PageDown" || key === "PageUp") scrollItem(key === "PageDown" ? 1 : -1);
  else if (key === "Enter" && (state.also || !isWhole())) enter(event);
  else if (!state.questions.length) return false;
  else return state.also ? alsoKey(key) : isWhole() ? list.key(key, event) : stepKey(key);
  return true;
}
$("save").addEventListener("click", save);
$("none").addEventListener("click", saveNone);
$("skip").addEventListener("click", skip);
$("undo").addEventListener("click", undo);
$("rest").addEventListener("change", showActions);
$("mode-whole").addEventListener("click", () => setMode("whole"));
$("mode-single").addEventListener("click", () => setMode("single"));
$("help-open").addEventListener("click", () => $("help").showModal());
for (const dialog of document.querySelectorAll("dialog")) {
  dialog.addEventListener("close", () => state.questions.length && isWhole() && !state.also && list.focus());
}
$("also").addEventListener("click", (event) => {
  const button = event.target.closest("button[data-place]");
  if (button) toggleAlso(Number(button.dataset.place));
});
$("single").addEventListener("click", (event) => {
  const button = event.target.closest("button[data-say]");
  if (button) sayStep(button.dataset.say);
});

// What labels mean does not keep anybody from answering.
async function learnMeanings() {
  try {
    for (const meaning of await server.get("/api/labels")) meanings.set(meaning.name, meaning);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
  }
  const isDescribed = [...meanings.values()].some(({ description, examples }) => description || examples.length);
  document.documentElement.toggleAttribute("data-described", isDescribed);
  if (meanings.size && state.questions.length && isWhole()) list.renew();
}

show();
showSaved();
outbox.wakeUp();
learnMeanings();
look();
