// One label, many items: marks on a page of pictures or snippets, saved as one, taken back as one.

import { ActiveClock } from "./clock.js";
import { medium, missing } from "./media.js";
import { Failure, Outbox, Server, storage } from "./outbox.js";
import { t } from "./texts.js";

const $ = (id) => document.getElementById(id);
const { project, who, label, words, like, order } = document.body.dataset;
const KEYS = "123456789abcdefghijklmnopqrstuvwxy"; // z takes back
const AHEAD = 2; // pages: the one shown and the next, also without a connection
const GUARD = 250; // milliseconds that a page must be on screen before a key or a click says anything of it
const POLL = 3000; // milliseconds between tries to get a page where that failed

const server = new Server();
const clock = new ActiveClock();
const draft = `labelwise:${project}:${who}:sweep:${label}`;
const keysOff = `labelwise:${project}:${who}:single-keys`;
const state = {
  pages: [], // those that are here and not saved; the first is shown
  shown: null, // the page on screen
  marks: new Map(), // of the page shown, by item: "yes" or "open"
  done: [], // pages saved here, to take back
  saved: 0,
  paintedAt: null,
  over: false, // nothing is left to look at
  busy: false, // a page is being fetched or taken back
  undoing: false,
};
const outbox = new Outbox(server, `${project}:sweep`, who, () => ({}), {
  saved: (entry, reply) => {
    state.saved += reply.saved;
    if (reply.left_out.length) tell($("refused"), t("sweep_left_out", { items: reply.left_out.join(", ") }));
    showSaved();
    more();
  },
  refused: (entry, message) => {
    state.done = state.done.filter(({ page }) => page.page !== entry.lease);
    tell($("refused"), t("sweep_not_saved", { message }));
    show();
  },
  changed: () => showSaved(),
});

// -- pages ------------------------------------------------------------------------------------------------------------

async function more() {
  if (state.busy || state.over || state.pages.length >= AHEAD) return;
  state.busy = true;
  const have = [...state.pages.map(({ page }) => page), ...outbox.leases()].slice(-20);
  try {
    const page = await server.post("/api/sweep", { label, words, like, order, have });
    if (page.page === null) state.over = true;
    else state.pages.push(page);
    tell($("queue"), "");
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    tell($("queue"), error.status ? t("sweep_no_page", { message: error.message }) : t("sweep_no_connection"));
    if (error.status !== 400) setTimeout(more, POLL);
  }
  state.busy = false;
  if (!state.shown || state.over) show();
  if (!state.over && state.pages.length && state.pages.length < AHEAD) more();
}

function show() {
  const page = state.pages[0] ?? null;
  if (page !== null && page === state.shown) return showCounts();
  state.shown = page;
  $("tiles").hidden = $("actions").hidden = page === null;
  $("waiting").hidden = page !== null;
  delete document.documentElement.dataset.ready;
  if (page === null) {
    $("waiting").textContent = state.over ? t("sweep_over", { label }) : t("sweep_looking");
    $("actions").hidden = !(state.over && state.done.length); // the last page can be taken back
    $("left").textContent = "";
    clock.stop();
    if (state.over) document.documentElement.dataset.ready = "";
    return showCounts();
  }
  const kept = new Set(JSON.parse(storage.get(draft) ?? "[]"));
  state.marks = new Map(page.tiles.filter(({ item, marked }) => marked || kept.has(item)).map(({ item }) => [item, "yes"]));
  const pictures = page.tiles.some((tile) => tile.pictures.length);
  $("tiles").classList.toggle("grid", pictures);
  $("tiles").replaceChildren(...page.tiles.map((tile, place) => drawn(tile, place)));
  $("left").textContent = t("sweep_left", { count: page.left });
  $("announced").textContent = t("sweep_announced", { count: page.tiles.length, label });
  window.scrollTo(0, 0);
  $("tiles").querySelector("button").focus({ preventScroll: true });
  showCounts();
  state.paintedAt = null;
  requestAnimationFrame(() => requestAnimationFrame(() => {
    if (state.shown !== page) return;
    state.paintedAt = performance.now();
    clock.start();
    setTimeout(() => { if (state.shown === page) document.documentElement.dataset.ready = page.page; }, GUARD);
  }));
}

function drawn(tile, place) {
  const line = document.createElement("li");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "tile";
  button.dataset.item = tile.item;
  const key = document.createElement("kbd");
  key.textContent = KEYS[place] ?? "";
  key.setAttribute("aria-hidden", "true");
  button.append(key);
  for (const address of tile.pictures) {
    const image = document.createElement("img");
    image.src = address;
    image.alt = t("picture_of", { item: tile.item });
    image.addEventListener("error", () => image.replaceWith(missing(image.alt)));
    button.append(image);
  }
  const text = document.createElement("span");
  text.className = "snippet";
  text.dir = "auto";
  for (const [part, tells] of tile.snippet) {
    if (!tells) text.append(part);
    else text.append(Object.assign(document.createElement("mark"), { textContent: part }));
  }
  if (tile.snippet.length) button.append(text);
  const p = document.createElement("span");
  p.className = "p soft numbers";
  p.textContent = tile.p === null ? "" : `${Math.round(100 * tile.p)} %`;
  button.append(p);
  for (const each of tile.media) {
    const kind = t(each.kind === "audio" ? "a_recording" : "a_pdf");
    button.insertBefore(Object.assign(document.createElement("span"), { className: "kind soft", textContent: kind }), p);
  }
  if (!tile.pictures.length && !tile.snippet.length) {
    text.textContent = tile.item;
    key.after(text);
  }
  line.append(button);
  for (const each of tile.media) line.append(medium(each, tile.item, { open: false }));
  if (tile.text) {
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    summary.textContent = t("more");
    summary.setAttribute("aria-label", t("more_of", { item: tile.item }));
    const whole = document.createElement("p");
    whole.dir = "auto";
    whole.textContent = tile.text;
    details.append(summary, whole);
    line.append(details);
  }
  return line;
}

// -- marks ------------------------------------------------------------------------------------------------------------

function tileOf(item) {
  return [...$("tiles").querySelectorAll("button.tile")].find((button) => button.dataset.item === item);
}

function mark(item, say) {
  if (say === "no") state.marks.delete(item);
  else state.marks.set(item, say);
  tell($("hint"), "");
  storage.set(draft, JSON.stringify([...state.marks].filter(([, said]) => said === "yes").map(([name]) => name)));
  showCounts();
}

const flip = (item) => mark(item, state.marks.get(item) === "yes" ? "no" : "yes");

function markAll() {
  const items = state.shown.tiles.map(({ item }) => item);
  const all = items.every((item) => state.marks.get(item) === "yes");
  for (const item of items) mark(item, all ? "no" : "yes");
}

function showCounts() {
  const tiles = state.shown?.tiles ?? [];
  let yes = 0;
  let open = 0;
  for (const { item } of tiles) {
    const said = state.marks.get(item) ?? "no";
    const button = tileOf(item);
    button.setAttribute("aria-pressed", String(said === "yes"));
    button.classList.toggle("open", said === "open");
    yes += said === "yes";
    open += said === "open";
  }
  $("counts").textContent = tiles.length ? t(open ? "sweep_counts_open" : "sweep_counts", { yes, no: tiles.length - yes - open, open }) : "";
  $("undo").disabled = state.done.length === 0;
  $("save").disabled = $("none").disabled = $("all").disabled = tiles.length === 0;
}

// -- saving and taking back -------------------------------------------------------------------------------------------

function counts() {
  if (state.paintedAt !== null && performance.now() - state.paintedAt >= GUARD) return true;
  tell($("hint"), t("sweep_too_early"));
  return false;
}

function save(none = false) {
  const page = state.shown;
  if (page === null || !counts()) return;
  const said = new Map(page.tiles.map(({ item }) => [item, none ? "no" : (state.marks.get(item) ?? "no")]));
  const values = Object.fromEntries([...said].filter(([, say]) => say !== "open").map(([item, say]) => [item, say === "yes"]));
  if (none && [...state.marks.values()].includes("yes")) return tell($("hint"), t("sweep_some_marked"));
  if (!none && !Object.values(values).includes(true)) return tell($("hint"), t("sweep_nothing_marked"));
  if (!Object.keys(values).length) return tell($("hint"), t("sweep_all_open"));
  const marked = Object.values(values).filter(Boolean).length;
  const timing = { seconds: clock.lap(), question: "sweep", by_key: marked, by_search: 0, by_suggestion: 0 };
  state.done.push({ page, marks: new Map(state.marks) });
  state.pages.shift();
  storage.drop(draft);
  tell($("hint"), "");
  tell($("refused"), "");
  outbox.add({ lease: page.page, kind: "answer_sweep", values, timing });
  show();
  more();
}

async function undo() {
  if (state.undoing) return;
  state.undoing = true;
  while (state.busy) await new Promise((resolve) => setTimeout(resolve, 20)); // a page is on its way
  try {
    await takeBack();
  } finally {
    state.undoing = false;
  }
}

async function takeBack() {
  const last = state.done.pop();
  if (!last) return;
  if (outbox.withdraw(last.page.page)) return reopen(last.page, last.marks);
  state.busy = true;
  await outbox.quiet();
  try {
    const page = await server.post("/api/undo_sweep", { page: last.page.page });
    state.saved -= page.tiles.length;
    const p = new Map(last.page.tiles.map((tile) => [tile.item, tile.p]));
    for (const tile of page.tiles) tile.p = p.get(tile.item) ?? null;
    reopen({ ...page, left: last.page.left }, last.marks);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (error.status === 0) state.done.push(last);
    tell($("refused"), t("sweep_not_taken_back", { message: error.message }));
  }
  state.busy = false;
  showSaved();
}

function reopen(page, marks) {
  state.over = false;
  state.pages.unshift(page);
  storage.set(draft, JSON.stringify([...marks].filter(([, say]) => say === "yes").map(([item]) => item)));
  show();
  for (const [item, say] of marks) if (say === "open") mark(item, say);
}

function showSaved() {
  const waiting = outbox.entries().length;
  const output = $("saved");
  output.dataset.state = waiting ? "waiting" : state.saved ? "saved" : "none";
  output.dataset.saved = state.saved;
  if (waiting) output.textContent = t("sweep_waiting", { count: waiting });
  else output.textContent = state.saved ? t("sweep_saved", { count: state.saved }) : t("sweep_nothing_saved");
}

function tell(place, message) {
  place.textContent = message;
  place.hidden = !message;
}

// -- keys and clicks --------------------------------------------------------------------------------------------------

function move(step) {
  const buttons = [...$("tiles").querySelectorAll("button.tile")];
  const here = buttons.indexOf(document.activeElement);
  buttons[Math.min(Math.max(here < 0 ? 0 : here + step, 0), buttons.length - 1)]?.focus();
}

function columns() {
  const lines = [...$("tiles").children];
  const other = lines.findIndex((line) => line.offsetTop > lines[0].offsetTop + 4);
  return other < 0 ? lines.length : other;
}

const MOVES = { ArrowRight: () => move(1), ArrowLeft: () => move(-1), ArrowDown: () => move(columns()), ArrowUp: () => move(-columns()) };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target.closest("input:not([type=checkbox]), select, textarea, summary")) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (event.target.closest("audio") && (key in MOVES || key === " " || key === "Enter")) return; // of the player
  const isTile = event.target.classList?.contains("tile");
  if (key === "Enter" && event.target.closest("a, button:not(.tile)")) return;
  const single = key.length === 1 && key !== " " && storage.get(keysOff) === "off";
  if (single) return;
  if (key === "z" && !event.repeat) undo();
  else if (!state.shown) return;
  else if (key === "Enter") event.repeat || save(event.shiftKey);
  else if (key in MOVES) MOVES[key]();
  else if (event.repeat) return;
  else if (key === " " && isTile) counts() && flip(event.target.dataset.item);
  else if (key === "-" && isTile) counts() && mark(event.target.dataset.item, state.marks.get(event.target.dataset.item) === "open" ? "no" : "open");
  else if (key === "0") counts() && markAll();
  else if (KEYS.includes(key) && KEYS.indexOf(key) < state.shown.tiles.length) {
    if (!counts()) return;
    const { item } = state.shown.tiles[KEYS.indexOf(key)];
    flip(item);
    tileOf(item).focus({ preventScroll: true });
  } else return;
  event.preventDefault();
});
document.addEventListener("keyup", (event) => {
  if (event.key === " " && event.target.classList?.contains("tile")) event.preventDefault(); // marked at keydown
});
$("tiles").addEventListener("click", (event) => {
  const button = event.target.closest("button.tile");
  if (button && counts()) flip(button.dataset.item);
});
$("save").addEventListener("click", () => save());
$("none").addEventListener("click", () => save(true));
$("all").addEventListener("click", () => counts() && markAll());
$("undo").addEventListener("click", () => undo());
$("single-keys").checked = storage.get(keysOff) !== "off";
$("single-keys").addEventListener("change", () => storage.set(keysOff, $("single-keys").checked ? "on" : "off"));
showSaved();
outbox.wakeUp();
more();
