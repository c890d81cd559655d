// The labelling view: which question is on screen, what is done with it, and where its answer goes.

import { ActiveClock } from "../clock.js";
import { announce, markFor, showItem } from "../item.js";
import { zoomKey } from "../media.js";
import { Failure, Outbox, Server } from "../outbox.js";
import { Also } from "./also.js";
import { Desk, GUARD, VALUE } from "./desk.js";
import { Keys } from "./keys.js";
import { LabelList } from "./labels.js";
import { OneByOne } from "./one_by_one.js";
import { Guidelines, KeySettings, MeaningDialog } from "./settings.js";
import { Undo } from "./undo.js";
import { t } from "../texts.js";

const $ = (id) => document.getElementById(id);
const { project, who, leaseSeconds } = document.body.dataset;
const AHEAD = 3; // items to have questions about: the one shown and what comes next, also without a connection
const POLL = 1500; // milliseconds between looks for questions where there are none
const MOST_GIVEN_BACK = 200; // leases in one request

const server = new Server();
const remembered = (name) => `labelwise:${project}:${who}:${name}`;
const desk = new Desk(remembered);
const clock = new ActiveClock();
const screen = {
  shown: null, // what is on it: mode, item and labels or leases
  item: null, // whose text is on it
  paintedAt: null, // since when
  waiting: null, // why there is no question
  isFirst: true, // nothing was sent about the item since it came on screen
  before: 0, // seconds spent on the item before it was reopened
  saved: 0, // answers
};
let pressedAt = 0; // when the key or button under way was pressed
let searchedAt = -Infinity; // when a label was marked by Enter in a search, if that was the last key
const outbox = new Outbox(server, project, who, () => ({ items: AHEAD, have: desk.leases }), {
  saved: (entry, reply) => {
    screen.saved += 1;
    const done = desk.done.find((each) => each.lease === entry.lease);
    if (done) done.event = reply.event;
    if (reply.notices.length) tell($("refused"), reply.notices.join(" "));
    showSaved();
    take(reply);
  },
  refused: (entry, message) => {
    desk.refuse(entry.lease);
    tell($("refused"), t("not_saved", { item: entry.item ?? entry.question.item, message }));
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
      desk.remember(changes.map(([row, say]) => [row.name, say]));
      for (const [row] of changes) desk.notePick(row, isFound);
      showActions();
    },
    searched: () => (searchedAt = pressedAt),
    enter: (event) => enter(event),
    here: (label) => markFor(label),
  },
  keys,
  meanings,
);
const oneByOne = new OneByOne(desk, list.finder, {
  counts: () => counts(),
  send: (says, questions, options) => {
    sendItem(says, questions, options);
    next();
  },
  skip: (questions) => {
    send(questions, "skip", {});
    next();
  },
  added: () => (searchedAt = pressedAt),
  changed: () => showActions(),
  enter: (event) => enter(event),
});
const also = new Also(desk, {
  timing: (says) => timing(says),
  lap: () => clock.lap(),
  pressedAt: () => pressedAt,
  hint: (text) => tell($("hint"), text),
  changed: () => showActions(),
  send: (says, options) => {
    sendItem(says, desk.bundle(), options);
    next();
  },
  left: (seconds) => {
    clock.add(seconds);
    screen.isFirst = true;
    list.focus();
  },
});
const undo = new Undo(desk, server, outbox, {
  steppedBack: (names) => {
    if (desk.isWhole) list.repaint(names);
    else oneByOne.repaint(names);
    showActions();
  },
  withdrawn: (seconds) => (screen.before = seconds),
  reopened: () => {
    screen.shown = null;
    show();
  },
  gone: () => {
    show();
    lookSoon(0);
  },
  told: (text) => ($("saved").textContent = text),
  failed: (text) => tell($("refused"), text),
});
const meaningDialog = new MeaningDialog(keys, meanings, () => list.draw());
const guidelines = new Guidelines(remembered("guidelines"));
new KeySettings(keys, () => desk.question && desk.isWhole && list.draw());

// -- questions --------------------------------------------------------------------------------------------------------

function take(reply) {
  desk.take(reply, outbox.leases());
  screen.waiting = reply.waiting;
  show();
  if (desk.unwanted.length) lookSoon(POLL / 10);
}

let lookAgain = null;
function lookSoon(wait) {
  clearTimeout(lookAgain);
  lookAgain = setTimeout(look, wait);
}

async function look() {
  clearTimeout(lookAgain);
  const back = desk.unwanted.slice(0, MOST_GIVEN_BACK);
  try {
    const reply = await server.post("/api/ask", { items: AHEAD, have: desk.leases, give_back: back });
    desk.unwanted = desk.unwanted.filter((lease) => !back.includes(lease));
    take(reply);
    if (!desk.unwanted.length) lookSoon(desk.question ? 1000 * Math.min(leaseSeconds / 3, 60) : POLL);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (!desk.question) {
      const kept = outbox.entries().length ? t("waiting_kept") : t("no_connection_again");
      screen.waiting = error.status === 401 ? signedOut() : kept;
      show();
    }
    lookSoon(POLL);
  }
}

// -- answering --------------------------------------------------------------------------------------------------------

// Whether what is done now counts: the item has been on screen for a moment.
function counts() {
  if (undo.isBusy || !desk.question) return false;
  if (screen.paintedAt !== null && pressedAt >= screen.paintedAt + GUARD) return true;
  tell($("hint"), t("too_early"));
  return false;
}

// The time since the item was shown or last answered about, and how what is said of it was picked.
function timing(says) {
  const question = desk.isWhole ? "item" : screen.isFirst ? "pair" : "further";
  screen.isFirst = false;
  return { seconds: clock.lap(), question, ...desk.ways(says) };
}

// Send what was said in answer to these questions, which are about one item; the first has the lease that it goes by.
function send(questions, kind, says, options = {}) {
  const [{ lease, item }] = questions;
  const leases = questions.map((question) => question.lease);
  const values = Object.fromEntries(Object.entries(says).map(([label, say]) => [label, VALUE[say]]));
  const asked = desk.isWhole ? null : new Set(oneByOne.steps().map(({ name }) => name));
  const { verified, ...others } = options;
  const taken = others.taken ?? timing(says);
  desk.close(questions, { kind, asked, taken, ...others, values: { ...values, ...verified?.values } });
  outbox.add({ kind, lease, leases, values, item, timing: taken, verified, whole: options.isPart !== true });
}

// Answer several questions about the item, or more than they ask about, in one request.
function sendItem(says, questions = desk.bundle(), options = {}) {
  const asked = new Set(questions[0].labels.map(({ name }) => name));
  const isPlain = questions.length === 1 && Object.keys(says).every((name) => asked.has(name));
  send(questions, isPlain ? "answer" : "answer_item", says, options);
}

function save() {
  if (!counts()) return;
  if (also.isOpen) return also.save();
  if (pressedAt < searchedAt + GUARD) return tell($("hint"), t("enter_doubled"));
  const rest = desk.isWhole ? $("rest").value : "open";
  const says = desk.marks();
  if (Object.keys(says).length === 0) {
    tell($("hint"), desk.isWhole && rest === "no" ? t("nothing_marked") : t("nothing_said"));
    return;
  }
  saveWith(says, rest);
}

// An item that has none of the labels: never by Enter alone, which may be doubled.
function saveNone() {
  if (also.isOpen) return save();
  if (!desk.isWhole || Object.keys(desk.marks()).length) save();
  else if (counts()) saveWith({}, "no");
}

function saveWith(says, rest) {
  if (rest === "no" && also.ask(says)) return;
  sendItem(desk.withRest(says, rest));
  next();
}

function enter(event) {
  if (event.shiftKey) saveNone();
  else save();
}

function skip() {
  if (!counts()) return;
  if (also.isOpen) also.leave();
  if (!desk.isWhole) return oneByOne.skip();
  const asked = desk.bundle();
  send(asked, asked.length === 1 ? "skip" : "skip_item", {});
  next();
}

function next() {
  $("refused").hidden = true;
  show();
  if (!desk.question) look();
}

function takeBack() {
  if (undo.isBusy) return;
  $("refused").hidden = true;
  if (also.isOpen) also.leave();
  else undo.undo();
}

// -- showing ----------------------------------------------------------------------------------------------------------

function show() {
  const { question, item } = desk;
  also.follow(item);
  $("desk").hidden = $("actions").hidden = !question;
  $("waiting").hidden = Boolean(question);
  for (const each of ["whole", "single"]) {
    $(`mode-${each}`).setAttribute("aria-pressed", String(desk.shownMode === each));
    $(each).hidden = desk.shownMode !== each;
  }
  if (!question) return showWaiting();
  const parts = desk.isWhole ? desk.labels().map(({ name }) => name) : desk.bundle().map((q) => q.lease);
  const key = JSON.stringify([desk.shownMode, item, parts]);
  if (screen.shown === key) return;
  const isNewItem = screen.item !== item;
  screen.shown = key;
  screen.item = item;
  desk.follow(item);
  oneByOne.place = oneByOne.firstOpen();
  if (isNewItem) {
    desk.picked.clear();
    clock.stop();
    showItem(question);
    announce(question, desk.labels().length);
    oneByOne.box.clear();
    document.querySelector(".item").scrollTop = 0;
    if (window.scrollY > 0) window.scrollTo(0, 0);
    waitUntilPainted();
  } else {
    clock.add(screen.before);
    screen.before = 0;
  }
  if (desk.isWhole) showList();
  else oneByOne.show();
  showActions();
  document.documentElement.dataset.question = question.lease; // for whoever measures
}

function showWaiting() {
  screen.shown = screen.item = screen.paintedAt = null;
  clock.stop();
  delete document.documentElement.dataset.ready;
  $("waiting").textContent = screen.waiting ?? t("on_its_way");
}

// Note when the item is on screen: its pictures are there, and two frames have begun since it was put in.
async function waitUntilPainted() {
  const page = document.documentElement;
  const turn = (screen.turn = {});
  screen.paintedAt = null;
  delete page.dataset.ready;
  await Promise.allSettled([...$("pictures").querySelectorAll("img")].map((image) => image.decode()));
  for (let frame = 0; frame < 2; frame += 1) await new Promise((resolve) => requestAnimationFrame(resolve));
  if (screen.turn !== turn) return;
  screen.paintedAt = performance.now();
  clock.start();
  clock.add(screen.before);
  screen.before = 0;
  screen.isFirst = true;
  setTimeout(() => {
    if (screen.turn === turn) page.dataset.ready = screen.item ?? ""; // for whoever presses keys as soon as they count
  }, GUARD);
}

function showList() {
  const { item } = desk;
  markFor(null);
  list.show(desk.labels(), () => desk.saidOf(item));
}

function showActions() {
  const says = Object.values(desk.marks());
  const total = desk.question ? desk.labels().length : 0;
  const marked = ["yes", "no", "unsure"].map((say) => [say, says.filter((each) => each === say).length]);
  const told = marked.filter(([, count]) => count).map(([say, count]) => t(`counted_${say}`, { count }));
  $("rest-line").hidden = !desk.isWhole || also.isOpen;
  $("rest-line").firstChild.textContent = t("the_others", { told: told.join(", ") || t("none_marked"), count: total - says.length });
  $("save").disabled = !desk.isWhole && says.length === 0;
  $("none").hidden = !desk.isWhole || also.isOpen || says.length > 0 || $("rest").value !== "no";
}

function showSaved() {
  const waiting = outbox.entries().length;
  const line = $("saved");
  line.dataset.state = waiting ? "waiting" : screen.saved ? "saved" : "none";
  line.dataset.saved = String(screen.saved);
  if (waiting) line.textContent = outbox.trouble ? t("to_be_sent", { count: waiting }) : t("saving");
  else line.textContent = screen.saved ? t("saved", { count: screen.saved }) : t("nothing_answered");
  const trouble = outbox.trouble;
  $("queue").hidden = !trouble;
  if (trouble) {
    const isOut = trouble.status === 401 || trouble.status === 403;
    const isGone = trouble.status === 0 ? t("no_connection") : t("server_trouble", { message: trouble.message });
    const what = isOut ? signedOut() : isGone;
    tell($("queue"), t(desk.question ? "answers_wait" : "answers_wait_for_connection", { what, count: waiting }));
  }
}

const signedOut = () => t("signed_out");

function tell(box, text) {
  box.textContent = text;
  box.hidden = false;
}

// -- keys and buttons -------------------------------------------------------------------------------------------------

function setMode(wanted) {
  if (also.isOpen) also.leave();
  desk.setMode(wanted);
  show();
}

const ANYWHERE = {
  skip,
  undo: takeBack,
  mode: () => setMode(desk.isWhole ? "single" : "whole"),
  help: () => $("help").showModal(),
  about: () => openMeaning(),
  guidelines: () => guidelines.toggle(),
};
const MOVES = ["ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight", "PageDown", "PageUp", "Tab"];

for (const kind of ["keydown", "click"]) {
  const note = (event) => {
    pressedAt = event.timeStamp;
    $("hint").hidden = true; // it was about what was done before
    if (event.key !== "Enter") searchedAt = -Infinity; // only the next key can be the same one, doubled
  };
  document.addEventListener(kind, note, { capture: true });
}
document.addEventListener("keydown", (event) => {
  const at = document.activeElement;
  if (document.querySelector("dialog[open]")) return;
  const isBox = at === $("search");
  const isPage = ["PageDown", "PageUp"].includes(event.key); // scrolls the item from any box of one line
  if (!isBox && (["SELECT", "TEXTAREA"].includes(at?.tagName) || (at?.tagName === "INPUT" && !isPage))) return;
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
  const name = desk.isWhole ? list.place?.dataset.name : $("asked").textContent;
  if (desk.question && name) meaningDialog.open(name, list.groups.pathOf(name));
}

// Do what a key says; whether it says anything.
function dispatch(key, event) {
  const command = keys.command(key);
  if (zoomKey(key, event, command)) return true;
  if (ANYWHERE[command]) ANYWHERE[command]();
  else if (key === "PageDown" || key === "PageUp") scrollItem(key === "PageDown" ? 1 : -1);
  else if (key === "Enter" && (also.isOpen || !desk.isWhole)) enter(event);
  else if (!desk.question) return false;
  else return also.isOpen ? also.key(key) : desk.isWhole ? list.key(key, event) : oneByOne.key(key, command);
  return true;
}
$("save").addEventListener("click", save);
$("none").addEventListener("click", saveNone);
$("skip").addEventListener("click", skip);
$("undo").addEventListener("click", takeBack);
$("rest").addEventListener("change", showActions);
$("mode-whole").addEventListener("click", () => setMode("whole"));
$("mode-single").addEventListener("click", () => setMode("single"));
$("help-open").addEventListener("click", () => $("help").showModal());
for (const dialog of document.querySelectorAll("dialog")) {
  dialog.addEventListener("close", () => desk.question && desk.isWhole && !also.isOpen && list.focus());
}

// What labels mean does not keep anybody from answering.
async function learnMeanings() {
  try {
    for (const meaning of await server.get("/api/labels")) meanings.set(meaning.name, meaning);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
  }
  const isDescribed = [...meanings.values()].some(({ description, examples }) => description || examples.length);
  document.documentElement.toggleAttribute("data-described", isDescribed);
  if (meanings.size && desk.question && desk.isWhole) list.renew();
}

show();
showSaved();
outbox.wakeUp();
learnMeanings();
look();
