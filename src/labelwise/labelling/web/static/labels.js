// The labels of a whole item: those that are chosen in a tray, below it the suggestions and all others as a tree, found by
// typing and answered by keys or by the buttons of the row that one is on.

import { LabelSearch, isNewSearch, plain } from "./search.js";

const SHORT = { yes: "Yes", no: "No", unsure: "?" };
const MANY = 40; // labels above which those that are not suggested are folded away
const LINE = 0.5; // probability from which one key accepts a label
const POSSIBLE = 0.1; // ... from which a label is suggested however many there are
const SUGGESTED = { least: 9, most: 25 }; // labels, where there are many
const MOST_FOUND = 50; // labels shown of those found
const TYPING_FROM = 21; // labels from which letters find, unless the person chose otherwise
const DELETING = 1000; // milliseconds: Backspace after a shorter pause still means letters
const OTHERS = "Others";
const PARTS = /\s*(?:\/|:+|>|\.|\|)\s*/; // "sport/tennis", "sport: tennis", "sport > tennis"

export const percent = (p) => (p === null ? "" : p > 0.995 ? "> 99 %" : p < 0.005 ? "< 1 %" : `${Math.round(100 * p)} %`);
const ALT = navigator.platform.startsWith("Mac") ? "⌥" : "Alt";
const isCoarse = matchMedia("(pointer: coarse)");
const isNarrow = matchMedia("(max-width: 48rem)");

function make(tag, name, text = "") {
  const made = document.createElement(tag);
  made.className = name;
  made.textContent = text;
  return made;
}

export class LabelList {
  // on: {may(): whether what is said counts, say([[row, say or null]], isFound), searched(), enter(event), here(label or null)}
  constructor(on, keys, meanings) {
    this.on = on;
    this.keys = keys;
    this.meanings = meanings;
    this.finder = new LabelSearch((name) => this.namesOf(name), (name) => meanings.get(name)?.items ?? 0);
    for (const [name, id] of Object.entries({ box: "groups", search: "search", by: "group-by", live: "found", tray: "tray", chosen: "chosen", about: "about" })) {
      this[name] = document.getElementById(id);
    }
    this.rows = [];
    this.elements = new Map(); // by label
    this.folds = new Map(); // by title: whether it is open
    this.place = null; // the row or heading that one is on
    this.buttons = this.makeButtons();
    this.search.addEventListener("input", () => {
      this.isLiteral = false;
      this.draw();
    });
    this.search.addEventListener("focus", () => this.showState());
    this.search.addEventListener("blur", () => this.showState());
    this.by.addEventListener("change", () => this.draw());
    this.tray.addEventListener("click", (event) => this.removeChip(event.target.closest("button[data-name]")));
    this.box.addEventListener("click", (event) => this.clicked(event));
    this.box.addEventListener("focusin", (event) => {
      const item = event.target.closest(".row, summary");
      if (item && item !== this.place && event.target.matches(":focus-visible")) this.settleOn(item); // not before a tap has ended
    });
    for (const kind of ["pointerover", "pointerleave"]) this.box.addEventListener(kind, (event) => this.pointed(event));
    const put = () => document.getElementById(isNarrow.matches ? "actions" : "label-head").prepend(this.tray);
    isNarrow.addEventListener("change", put);
    put();
  }

  // Every text that stands for a label: its name, the way to it in the tree, other names.
  namesOf(name) {
    return [name, this.pathOf(name).join(" "), ...(this.meanings.get(name)?.aliases ?? [])];
  }

  // From the most general label to this one: by the parents that were named, or by the parts of its name.
  pathOf(name) {
    const path = [];
    for (let at = name; at && !path.includes(at); at = this.meanings.get(at)?.parent) path.unshift(at);
    return path.length > 1 ? path : name.split(PARTS).filter(Boolean);
  }

  // said: () => what is said of the item, by label
  show(rows, said) {
    this.rows = rows;
    this.said = said;
    this.elements.clear();
    this.folds.delete(OTHERS);
    this.search.value = "";
    this.isLiteral = false; // whether a digit is text
    this.place = null;
    this.draw();
    this.drawTray();
    this.focus();
  }

  // New meanings have come.
  renew() {
    this.finder.index.clear();
    this.elements.clear();
    this.draw();
  }

  // -- drawing --------------------------------------------------------------------------------------------------------

  draw() {
    const text = this.search.value.trim();
    const found = text ? this.finder.find(this.rows, text) : null;
    const before = this.place?.dataset.name;
    this.box.replaceChildren(...(found ? [this.list(found.slice(0, MOST_FOUND))] : this.grouped()));
    this.showKeys(!found);
    const shown = this.visible();
    if (found) this.settleOn(shown[0] ?? null);
    else this.settleOn(shown.find((item) => item.dataset.name === before) ?? shown[0] ?? null);
    if (found) this.tellFound(text, found);
    else this.tell("");
    this.showState();
  }

  showKeys(areThere = true) {
    const keys = this.keys.ofRows(areThere ? this.visible().map((item) => item.dataset.name) : []);
    for (const [name, item] of this.elements) item.querySelector(".key").textContent = keys.get(name) ?? "";
  }

  tellFound(text, found) {
    const all = `${this.rows.length} ${this.rows.length === 1 ? "label" : "labels"}`;
    if (!found.length) this.tell(`No open label matches “${text}”.`);
    else this.tell(`${found.length} of ${all}. Enter adds “${found[0].name}”.`);
  }

  grouped() {
    let by = this.by.value;
    const isBelieved = this.rows.some((row) => row.p !== null);
    if (by === "belief" && !isBelieved) by = this.rows.length > MANY ? (this.haveParts() ? "tree" : "letter") : "none";
    if (by === "belief") return this.suggested();
    if (by === "none") return [this.list(this.rows)];
    const sorted = [...this.rows].sort((a, b) => a.name.localeCompare(b.name));
    return this.tree(sorted, by === "tree" ? (name) => this.pathOf(name) : (name) => [plain(name)[0].toUpperCase(), name]);
  }

  // The likeliest labels with a line below those that one key accepts; where there are many, the others are folded away.
  suggested() {
    const order = [...this.rows].sort((a, b) => (b.p ?? -1) - (a.p ?? -1));
    const possible = order.filter(({ p }) => p >= POSSIBLE).length;
    const number = order.length > MANY ? Math.min(Math.max(possible, SUGGESTED.least), SUGGESTED.most) : order.length;
    const likely = order.filter(({ p }) => p >= LINE).slice(0, number);
    const first = [this.list(likely), this.list(order.slice(likely.length, number))];
    if (likely.length) first.splice(1, 0, this.line(likely.length));
    return number < order.length ? [...first, this.fold(OTHERS, [], order.slice(number), false)] : first;
  }

  line(number) {
    const line = make("div", "line");
    const button = make("button", "quiet", number === 1 ? "Accept the one above this line " : `Accept the ${number} above this line `);
    button.type = "button";
    button.dataset.accept = "";
    button.append(make("kbd", "accept-key"));
    line.append(button);
    return line;
  }

  tree(rows, pathOf) {
    const root = { rows: [], nodes: new Map() };
    for (const row of rows) {
      let node = root;
      for (const part of pathOf(row.name).slice(0, -1)) {
        if (!node.nodes.has(part)) node.nodes.set(part, { rows: [], nodes: new Map() });
        node = node.nodes.get(part);
      }
      node.rows.push(row);
    }
    return this.branches(root, [], pathOf);
  }

  // A label that others are under comes first among them.
  branches(node, path, pathOf) {
    const heads = new Map(node.rows.map((row) => [pathOf(row.name).at(-1), row]).filter(([part]) => node.nodes.has(part)));
    const own = node.rows.filter((row) => ![...heads.values()].includes(row));
    const below = [...node.nodes].sort(([a], [b]) => a.localeCompare(b));
    const folds = below.map(([part, { rows, nodes }]) => {
      const head = heads.get(part);
      const branch = { rows: head ? [head, ...rows] : rows, nodes };
      return this.fold([...path, part].join(" › "), [part, branch, pathOf], allRows(branch), true);
    });
    return [...(own.length ? [this.list(own)] : []), ...folds];
  }

  // Rows that are folded away are made when they are first looked at: with hundreds of labels they are most of the page.
  fold(title, [part, below, pathOf] = [], rows, isOpen) {
    const details = document.createElement("details");
    const fill = () => {
      if (details.open && details.children.length === 1) {
        const inner = part === undefined ? [this.list(rows)] : this.branches(below, title.split(" › "), pathOf);
        details.append(...inner);
      }
    };
    details.open = this.folds.get(title) ?? isOpen;
    details.append(make("summary", "", `${part ?? title} · ${rows.length}`));
    details.addEventListener("toggle", () => {
      if ((this.folds.get(title) ?? isOpen) === details.open) return;
      this.folds.set(title, details.open);
      fill();
      this.showKeys();
    });
    fill();
    return details;
  }

  list(rows) {
    const list = make("div", "rows");
    list.append(...rows.map((row) => this.element(row)));
    return list;
  }

  haveParts() {
    return this.rows.filter(({ name }) => this.pathOf(name).length > 1).length > this.rows.length / 2;
  }

  element(row) {
    if (this.elements.has(row.name)) return this.elements.get(row.name);
    const item = make("div", "row");
    item.tabIndex = -1;
    item.dataset.name = row.name;
    item.setAttribute("role", "group");
    if (row.p !== null) item.style.setProperty("--p", row.p);
    const key = make("kbd", "key char");
    key.setAttribute("aria-hidden", "true");
    const named = make("span", "named");
    named.append(make("span", "label-name", row.name));
    const above = this.meanings.get(row.name)?.parent ? this.pathOf(row.name).slice(0, -1) : [];
    if (above.length) named.append(make("small", "path", above.join(" › ")));
    if (row.why) named.append(make("small", "reason", row.why));
    item.append(key, named, make("span", "p", percent(row.p)));
    item.row = row;
    this.elements.set(row.name, item);
    this.paint(item);
    return item;
  }

  makeButtons() {
    const says = make("span", "says");
    for (const say of Object.keys(SHORT)) {
      const button = make("button", "", SHORT[say]);
      button.type = "button";
      button.dataset.say = say;
      says.append(button);
    }
    return says;
  }

  paint(item) {
    const { name, p, why } = item.row;
    const say = this.said()[name] ?? null;
    if (say) item.dataset.say = say;
    else delete item.dataset.say;
    const believed = p === null ? "" : `, believed ${percent(p)}`;
    item.setAttribute("aria-label", `${name}${believed}${why ? ` ${why}` : ""}${say ? `, ${say}` : ""}`);
    if (item.contains(this.buttons)) this.paintButtons(item);
  }

  paintButtons(item) {
    for (const button of this.buttons.children) {
      button.setAttribute("aria-pressed", String(button.dataset.say === item.dataset.say));
      button.setAttribute("aria-label", `${button.dataset.say}: ${item.dataset.name}`);
    }
  }

  // What is chosen, always in sight.
  drawTray() {
    const chips = Object.entries(this.said()).filter(([, say]) => say !== "no");
    this.chosen.replaceChildren(
      ...chips.map(([name, say]) => {
        const chip = make("button", `chip ${say}`, say === "unsure" ? `${name} ?` : name);
        chip.type = "button";
        chip.dataset.name = name;
        chip.setAttribute("aria-label", `Remove ${name}${say === "unsure" ? ", unsure" : ""}`);
        chip.append(make("span", "cross", "×"));
        const entry = document.createElement("li");
        entry.append(chip);
        return entry;
      }),
    );
    this.tray.toggleAttribute("data-empty", !chips.length);
  }

  // Marks were changed elsewhere.
  repaint(names) {
    for (const name of names) if (this.elements.has(name)) this.paint(this.elements.get(name));
    this.drawTray();
    this.tell("");
    const item = this.elements.get(names.at(-1));
    if (item && this.visible().includes(item)) this.settleOn(item);
    this.focus();
  }

  // -- where one is ---------------------------------------------------------------------------------------------------

  // In the order in which they are seen; what is folded away is not.
  visible(what = ".row") {
    return [...this.box.querySelectorAll(what)].filter((each) => {
      const fold = each.tagName === "SUMMARY" ? each.parentElement.parentElement : each;
      return !fold.closest("details:not([open])");
    });
  }

  settleOn(item) {
    if (this.place && this.place !== item) {
      delete this.place.dataset.here;
      if (this.place.matches(".row")) this.place.tabIndex = -1;
    }
    this.place = item;
    if (!item) return this.lookAt(null);
    item.dataset.here = "";
    item.tabIndex = 0;
    this.lookAt(null);
  }

  // The row that the pointer is on, else the one that one is on, has the buttons and says what its label means.
  lookAt(row) {
    const item = row ?? (this.place?.matches(".row") ? this.place : null);
    if (item && this.buttons.parentElement !== item) {
      item.append(this.buttons);
      this.paintButtons(item);
    }
    const name = item?.dataset.name;
    const { description = "", examples = [] } = this.meanings.get(name) ?? {};
    this.about.textContent = description || (examples.length ? `e.g. ${examples[0]}` : "");
    this.about.title = this.about.textContent;
    this.on.here(row || this.isMoved ? (name ?? null) : null);
  }

  // A finger points where it taps: nothing may move there before it does.
  pointed({ type, target, pointerType }) {
    if (pointerType === "mouse") this.lookAt(type === "pointerover" ? target.closest(".row") : null);
  }

  // Whether letters find labels, as soon as an item is shown.
  get isTyping() {
    const { letters } = this.keys;
    return !isCoarse.matches && (letters === "find" || (letters === "auto" && this.rows.length >= TYPING_FROM));
  }

  focus(isTyping = this.isTyping) {
    if (isTyping) this.search.focus({ preventScroll: true });
    else this.place?.focus({ preventScroll: true });
    this.isMoved = false;
    this.showState();
  }

  get inBox() {
    return document.activeElement === this.search;
  }

  showState() {
    const isBare = isCoarse.matches || !this.keys.single;
    this.search.placeholder = isBare ? "Find a label" : this.inBox ? "Type to find, digits choose" : `Find a label  ( ${this.keys.of("find")} )`;
    for (const key of this.box.querySelectorAll(".accept-key")) key.textContent = this.inBox ? "Space" : this.keys.of("accept");
    document.documentElement.dataset.alt = this.inBox && !isBare ? `${ALT} ` : "";
  }

  move(step) {
    const stops = this.visible(".row, summary");
    const place = stops.indexOf(this.place);
    const isThere = this.inBox || this.box.contains(document.activeElement);
    this.isMoved = true;
    this.settleOn(stops[isThere ? Math.min(Math.max(place + step, 0), stops.length - 1) : Math.max(place, 0)] ?? null);
    if (!this.inBox) this.place?.focus();
    else if (this.place) {
      this.place.scrollIntoView({ block: "nearest" });
      this.tell(this.place.getAttribute("aria-label") ?? this.place.textContent);
    }
  }

  // Open or close the heading that one is on, or that the row is under.
  turn(isOpen) {
    const details = this.place?.closest("details");
    if (!details || (isOpen && !this.place.matches("summary"))) return false;
    details.open = isOpen;
    if (!isOpen) this.settleOn(details.firstChild);
    if (!this.inBox) this.place.focus();
    return true;
  }

  // -- saying ---------------------------------------------------------------------------------------------------------

  // Say something of labels; whether it counted.
  say(changes, isFound = false) {
    if (!changes.length || !this.on.may()) return false;
    this.on.say(changes, isFound);
    for (const [{ name }] of changes) if (this.elements.has(name)) this.paint(this.elements.get(name));
    this.drawTray();
    const [[{ name }, say]] = changes;
    this.tell(changes.length > 1 ? `${changes.length} labels: ${say}` : `${name}: ${say ?? "unmarked"}`);
    return true;
  }

  // Mark a label, or take the same mark back.
  toggle(item, say) {
    return this.say([[item.row, this.said()[item.row.name] === say ? null : say]], this.search.value.trim() !== "");
  }

  // Mark the label that one is on and go on; pressed again the mark stays, so that a key pressed twice says the same.
  mark(say) {
    const item = this.place;
    if (!item?.matches(".row")) return;
    if (this.said()[item.row.name] !== say) {
      if (this.say([[item.row, say]], this.search.value.trim() !== "")) this.moveOn();
    } else if (this.on.may()) {
      this.moveOn();
      this.tell(`“${item.row.name}” is already marked.`);
    }
  }

  moveOn() {
    const told = this.live.textContent;
    this.move(1);
    this.tell(told);
  }

  accept() {
    if (!this.on.may()) return;
    const likely = this.rows.filter(({ p }) => p >= LINE);
    const open = likely.filter(({ name }) => !(name in this.said()));
    if (open.length) this.say(open.map((row) => [row, "yes"]));
    else this.tell(likely.length ? "All labels above the line are marked." : "No label is above the line.");
  }

  // The chosen label that was marked last is no longer.
  removeLast() {
    const name = [...this.chosen.querySelectorAll("[data-name]")].at(-1)?.dataset.name;
    const row = this.rows.find((each) => each.name === name);
    return row !== undefined && this.say([[row, null]]);
  }

  removeChip(chip) {
    const row = this.rows.find(({ name }) => name === chip?.dataset.name);
    if (row) this.say([[row, null]]);
    this.focus();
  }

  clicked(event) {
    const item = event.target.closest(".row");
    const button = event.target.closest("button[data-say]");
    if (event.target.closest("[data-accept]")) this.accept();
    else if (!item) return;
    else if (button) this.toggle(item, button.dataset.say);
    else if (event.target.closest(".named, .key")) this.toggle(item, "yes");
    if (item) this.settleOn(item);
    this.focus(this.inBox || this.isTyping); // so that Enter saves instead of pressing the button again
  }

  // -- keys -----------------------------------------------------------------------------------------------------------

  // A key that was meant for the labels; whether it was.
  key(key, event) {
    const command = this.keys.command(key);
    const own = [...this.keys.own].find(([, each]) => each === key)?.[0];
    if (this.inBox && key === "Enter" && this.search.value.trim()) this.addFound();
    else if (key === "Enter") this.on.enter(event);
    else if (own !== undefined) return this.choose(own);
    else if (["yes", "no", "unsure"].includes(command)) this.mark(command);
    else if (command === "reject") this.mark("no");
    else if (command === "accept") this.accept();
    else if (command === "find") return this.find();
    else if (key === " " && this.inBox) this.accept();
    else if (key === " " && this.place?.matches(".row")) this.toggle(this.place, "yes");
    else if (key === "ArrowDown" || key === "ArrowUp") this.move(key === "ArrowDown" ? 1 : -1);
    else if (key === "ArrowRight" || key === "ArrowLeft") return !this.search.value && this.turn(key === "ArrowRight");
    else if (key === "Backspace") return this.backspace(event);
    else if (key === "Escape") this.escape();
    else return key.length === 1 && !(this.inBox && this.isLiteral) && this.chooseBy(key);
    return true;
  }

  // The row whose key was pressed; whether there is one.
  chooseBy(key) {
    const item = this.search.value.trim() ? null : this.visible().find((each) => each.querySelector(".key").textContent === key);
    if (!item) return false;
    this.toggle(item, "yes");
    this.settleOn(item);
    if (!this.inBox) item.focus();
    return true;
  }

  choose(name) {
    const row = this.rows.find((each) => each.name === name);
    if (row) this.say([[row, this.said()[name] === "yes" ? null : "yes"]]);
    return row !== undefined;
  }

  // Begin a search, in which a digit is text; whether the key that does so was none.
  find() {
    if (this.inBox && this.search.value && !isNewSearch(this.search, this.rows)) return false;
    this.search.focus();
    this.search.select();
    this.isLiteral = true;
    return true;
  }

  // Enter says yes to the first label found, or the one moved to, and never takes a yes back. What finds nothing stays.
  addFound() {
    const item = this.place;
    if (!item?.matches(".row")) return;
    const { name } = item.row;
    if (this.said()[name] === "yes") {
      this.clear();
      this.tell(`“${name}” is already marked.`);
    } else if (this.say([[item.row, "yes"]], true)) {
      this.clear();
      this.tell(`${name}: yes`);
    } else return;
    this.on.searched();
  }

  backspace(event) {
    if (this.inBox && this.search.value) {
      this.deletedAt = event.timeStamp;
      return false;
    }
    if (event.timeStamp < (this.deletedAt ?? -Infinity) + DELETING) return true;
    return this.removeLast();
  }

  escape() {
    if (this.search.value) this.clear();
    else this.focus(false);
  }

  clear() {
    this.search.value = "";
    this.isLiteral = false;
    this.draw();
  }

  tell(text) {
    this.live.textContent = text;
  }
}

const allRows = ({ rows, nodes }) => [...rows, ...[...nodes.values()].flatMap(allRows)];
