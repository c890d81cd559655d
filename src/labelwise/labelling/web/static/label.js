// The labelling view: which question is shown, what was said of it, and where it goes.

import { markFor, showItem } from "./item.js";
import { LabelList, percent } from "./labels.js";
import { Failure, Outbox, Server, storage } from "./outbox.js";

const $ = (id) => document.getElementById(id);
const { project, who, leaseSeconds } = document.body.dataset;
const AHEAD = 3; // items to have questions about: the one shown and what comes next, also without a connection
const POLL = 1500; // milliseconds between looks for questions where there are none
const FEW = { least: 3, most: 8, unbelieved: 30 }; // questions one by one
const VALUE = { yes: true, no: false, unsure: null };

const server = new Server();
const remembered = (name) => `labelwise:${project}:${who}:${name}`;
const state = {
  questions: [], // those that are ours and not answered, in order
  said: JSON.parse(storage.get(remembered("draft")) ?? "{}"), // by lease and label
  done: [], // what was answered or skipped here, for undo
  mode: storage.get(remembered("mode")),
  place: 0, // of the question shown, one by one
  shown: null, // the lease whose item is on the page
  earlier: [], // answered questions about the item on the page
  saved: 0,
  busy: false,
};
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
    state.done = state.done.filter((each) => each.lease !== entry.lease);
    tell($("refused"), `Item ${entry.question.item} was not saved: ${message}.`);
    look();
  },
  changed: () => showSaved(),
});
const list = new LabelList({
  say: (row, say) => {
    remember(row.lease, row.name, say);
    showActions();
  },
  here: (label) => markFor(label),
});

// -- questions --------------------------------------------------------------------------------------------------------

// What the server says is ours: known ones keep their place, new ones come after them.
function take(reply) {
  const known = new Map(state.questions.map((question) => [question.lease, question]));
  for (const question of reply.questions) known.set(question.lease, question);
  const ours = new Set(reply.yours);
  state.questions = [...known.values()].filter((q) => ours.has(q.lease) && !outbox.holds(q.lease));
  state.waiting = reply.waiting;
  show();
}

let lookAgain = null;
async function look() {
  clearTimeout(lookAgain);
  try {
    take(await server.post("/api/ask", { items: AHEAD, have: state.questions.map((q) => q.lease) }));
    lookAgain = setTimeout(look, state.questions.length ? 1000 * Math.min(leaseSeconds / 3, 60) : POLL);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (!state.questions.length) {
      const kept = outbox.entries().length ? "Waiting for the connection; your answers are kept." : "No connection to the server. Trying again …";
      state.waiting = error.status === 401 ? signedOut() : kept;
      show();
    }
    lookAgain = setTimeout(look, POLL);
  }
}

const bundle = () => state.questions.filter((question) => question.item === state.questions[0]?.item);
const saidOf = (lease) => state.said[lease] ?? {};

function remember(lease, label, say) {
  const said = { ...saidOf(lease) };
  if (say === null) delete said[label];
  else said[label] = say;
  state.said[lease] = said;
  const kept = new Set(state.questions.map((question) => question.lease));
  for (const other of Object.keys(state.said)) if (!kept.has(other)) delete state.said[other];
  storage.set(remembered("draft"), JSON.stringify(state.said));
}

// The few questions about an item worth asking one by one: the most doubtful labels of a whole item, or its pairs.
function steps() {
  return bundle().flatMap((question) => {
    const labels = question.labels.map(({ name, p }) => ({ lease: question.lease, name, p }));
    if (labels.length === 1) return labels;
    if (labels[0].p === null) return labels.slice(0, FEW.unbelieved);
    const byDoubt = labels.sort((a, b) => Math.abs(a.p - 0.5) - Math.abs(b.p - 0.5));
    return byDoubt.filter(({ p }, place) => place < FEW.least || (place < FEW.most && p > 0.05 && p < 0.95));
  });
}

const mode = () => state.mode ?? (state.questions[0]?.labels.length === 1 ? "single" : "whole");
const isWhole = () => mode() === "whole";

// -- answering --------------------------------------------------------------------------------------------------------

function send(question, kind, says) {
  const values = Object.fromEntries(Object.entries(says).map(([label, say]) => [label, VALUE[say]]));
  state.questions = state.questions.filter((other) => other !== question);
  state.done.push({ lease: question.lease, question, says, event: null });
  if (question.labels.length === 1 && kind === "answer") {
    state.earlier.push({ item: question.item, name: question.labels[0].name, say: Object.values(says)[0] });
  }
  outbox.add({ kind, lease: question.lease, values, question });
}

function save() {
  if (!state.questions.length) return;
  const rest = isWhole() ? $("rest").value : "open";
  const answers = bundle().map((question) => {
    const says = { ...saidOf(question.lease) };
    for (const { name } of question.labels) if (!(name in says) && rest === "no") says[name] = "no";
    return [question, says];
  });
  if (answers.every(([, says]) => Object.keys(says).length === 0)) {
    tell($("refused"), "Nothing is said of this item yet. Say yes or no, or skip it.");
    return;
  }
  for (const [question, says] of answers) send(question, Object.keys(says).length ? "answer" : "skip", says);
  next();
}

function skip() {
  if (!state.questions.length) return;
  const asked = bundle();
  for (const question of isWhole() ? asked : asked.filter((q) => q.lease === steps()[state.place].lease)) {
    send(question, "skip", {});
  }
  next();
}

// One question answered: the lease is sent when nothing is left to ask about it.
function sayStep(say) {
  const asked = steps()[state.place];
  if (!asked) return;
  remember(asked.lease, asked.name, say);
  const open = steps().filter(({ lease, name }) => lease === asked.lease && !(name in saidOf(lease)));
  if (open.length === 0) {
    send(state.questions.find((question) => question.lease === asked.lease), "answer", saidOf(asked.lease));
    next();
  } else {
    const after = steps().findIndex(({ lease, name }, place) => place > state.place && !(name in saidOf(lease)));
    state.place = after >= 0 ? after : steps().findIndex(({ lease, name }) => !(name in saidOf(lease)));
    showSteps();
  }
}

function next() {
  $("refused").hidden = true;
  show();
  if (!state.questions.length) look();
}

async function undo() {
  if (state.busy) return;
  state.busy = true;
  try {
    const last = state.done.at(-1);
    let question = last?.question;
    if (!last || !outbox.withdraw(last.lease)) {
      await outbox.quiet();
      question = await server.post("/api/undo", last?.event ? { event: last.event } : {});
    }
    state.done.pop();
    const repeated = state.earlier.findLastIndex((each) => each.name === question.labels[0]?.name);
    if (repeated >= 0) state.earlier.splice(repeated, 1);
    state.questions = [question, ...state.questions.filter((other) => other.lease !== question.lease)];
    const open = new Set(question.labels.map(({ name }) => name));
    state.said[question.lease] = Object.fromEntries(Object.entries(last?.says ?? {}).filter(([name]) => open.has(name)));
    if (mode() === "single") state.said[question.lease] = {};
    state.shown = null;
    $("saved").textContent = "Taken back";
    show();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const told = error.status === 0 ? "There is no connection; what is saved can be taken back when it is there" : error.message;
    tell($("refused"), `${told}.`);
  } finally {
    state.busy = false;
  }
}

// -- showing ----------------------------------------------------------------------------------------------------------

function show() {
  const question = state.questions[0];
  $("desk").hidden = $("actions").hidden = !question;
  $("waiting").hidden = Boolean(question);
  for (const each of ["whole", "single"]) {
    $(`mode-${each}`).setAttribute("aria-pressed", String(mode() === each));
    $(each).hidden = mode() !== each;
  }
  if (!question) {
    state.shown = null;
    $("waiting").textContent = state.waiting ?? "The next question is on its way …";
    return;
  }
  const key = `${mode()} ${bundle().map((q) => q.lease).join(" ")}`;
  if (state.shown === key) return;
  const isNewItem = state.item !== question.item || state.shown === null;
  state.shown = key;
  state.item = question.item;
  state.place = 0;
  state.earlier = state.earlier.filter((each) => each.item === question.item);
  if (isNewItem) {
    showItem(question);
    document.querySelector(".item").scrollTop = 0;
    if (window.scrollY > 0) window.scrollTo(0, 0);
  }
  if (isWhole()) showList();
  else showSteps();
  showActions();
  document.documentElement.dataset.question = question.lease; // for whoever measures
}

function showList() {
  const rows = bundle().flatMap((q) => q.labels.map(({ name, p }) => ({ lease: q.lease, name, p })));
  markFor(null);
  list.show(rows, (row) => saidOf(row.lease)[row.name] ?? null);
  list.settleOn(list.here() ?? list.visible()[0]);
  markFor(null);
}

function showSteps() {
  const all = steps();
  const asked = all[state.place];
  if (!asked) return;
  const answered = state.earlier.length;
  const number = answered + all.length;
  $("step").textContent = number === 1 ? "One question" : `Question ${answered + state.place + 1} of ${number} about this item`;
  $("asked").textContent = asked.name;
  showBelief(asked.p);
  const say = saidOf(asked.lease)[asked.name];
  for (const button of document.querySelectorAll("#single button[data-say]")) {
    button.setAttribute("aria-pressed", String(button.dataset.say === say));
  }
  const earlier = state.earlier.map(({ name, say: told }) => step(name, told, false));
  const others = all.map(({ lease, name }, place) => step(name, saidOf(lease)[name], place === state.place));
  $("steps").replaceChildren(...earlier, ...others);
  $("steps").hidden = earlier.length + others.length === 1;
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

function showBelief(p) {
  const track = document.createElement("div");
  track.className = "track";
  const fill = document.createElement("div");
  fill.className = "fill";
  fill.style.setProperty("--p", p ?? 0);
  track.append(fill);
  $("belief").hidden = p === null;
  $("belief").replaceChildren(`The model says ${percent(p)}`, track);
}

function showActions() {
  const says = bundle().flatMap((question) => Object.values(saidOf(question.lease)));
  const total = bundle().reduce((sum, question) => sum + question.labels.length, 0);
  const marked = ["yes", "no", "unsure"].map((say) => [say, says.filter((each) => each === say).length]);
  const told = marked.filter(([, count]) => count).map(([say, count]) => `${count} ${say}`);
  $("rest-line").hidden = !isWhole();
  $("rest-line").firstChild.textContent = `${told.join(", ") || "none marked"}; the other ${total - says.length}: `;
  $("save").disabled = !isWhole() && says.length === 0;
}

function showSaved() {
  const waiting = outbox.entries().length;
  const line = $("saved");
  line.dataset.state = waiting ? "waiting" : state.saved ? "saved" : "none";
  line.dataset.saved = String(state.saved);
  if (waiting) line.textContent = outbox.trouble ? `${waiting} waiting to be sent` : "saving …";
  else line.textContent = state.saved ? `✓ saved, ${state.saved} so far` : "Nothing answered yet";
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

const signedOut = () => "You are signed out: open a new link in another tab.";

function tell(box, text) {
  box.textContent = text;
  box.hidden = false;
}

// -- keys and buttons -------------------------------------------------------------------------------------------------

function setMode(wanted) {
  state.mode = wanted;
  storage.set(remembered("mode"), wanted);
  show();
}

function moveStep(change) {
  state.place = Math.min(Math.max(state.place + change, 0), steps().length - 1);
  showSteps();
}

function stepKey(event) {
  const says = { y: "yes", n: "no", u: "unsure" };
  if (event.key in says) sayStep(says[event.key]);
  else if (event.key === "ArrowDown" || event.key === "ArrowRight") moveStep(1);
  else if (event.key === "ArrowUp" || event.key === "ArrowLeft") moveStep(-1);
  else return false;
  return true;
}

const ANYWHERE = {
  s: skip,
  z: undo,
  m: () => setMode(isWhole() ? "single" : "whole"),
  "?": () => $("help").showModal(),
  Enter: save,
};

document.addEventListener("keydown", (event) => {
  const at = document.activeElement;
  if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
  if (["INPUT", "SELECT", "TEXTAREA"].includes(at?.tagName)) return;
  if (event.repeat && event.key in ANYWHERE) return; // a key held down answers once
  const pressesItself = ["BUTTON", "A", "SUMMARY"].includes(at?.tagName) && ["Enter", " "].includes(event.key);
  if (pressesItself) return;
  if (event.key in ANYWHERE) ANYWHERE[event.key]();
  else if (!state.questions.length || !(isWhole() ? list.key(event) : stepKey(event))) return;
  event.preventDefault();
});
$("save").addEventListener("click", save);
$("skip").addEventListener("click", skip);
$("undo").addEventListener("click", undo);
$("rest").addEventListener("change", showActions);
$("mode-whole").addEventListener("click", () => setMode("whole"));
$("mode-single").addEventListener("click", () => setMode("single"));
$("help-open").addEventListener("click", () => $("help").showModal());
$("single").addEventListener("click", (event) => {
  const button = event.target.closest("button[data-say]");
  if (button) sayStep(button.dataset.say);
});

show();
showSaved();
outbox.wakeUp();
look();
