// The labels of a whole item: those that are chosen in a tray, below it the suggestions and all others as a tree, found by
// typing and answered by keys or by the buttons of the row that one is on.

import { LINE, LabelGroups, make, percent } from "./groups.js";
import { LabelSearch, isNewSearch } from "./search.js";
import { Tray } from "./tray.js";
import { t } from "../texts.js";

const SAYS = ["yes", "no", "unsure"];
const MOST_FOUND = 50; // labels shown of those found
const TYPING_FROM = 21; // labels from which letters find, unless the person chose otherwise
const DELETING = 1000; // milliseconds: Backspace after a shorter pause still means letters
const ALT = navigator.platform.startsWith("Mac") ? "⌥" : "Alt";
const isCoarse = matchMedia("(pointer: coarse)");

export class LabelList {
  // on: {may(): whether what is said counts, say([[row, say or null]], isFound), searched(), enter(event), here(label or null)}
  constructor(on, keys, meanings) {
    this.on = on;
    this.keys = keys;
    this.meanings = meanings;
    this.groups = new LabelGroups(meanings, { made: (item) => this.paint(item), unfolded: () => this.showKeys() });
    this.elements = this.groups.elements; // by label
    this.finder = new LabelSearch((name) => this.groups.namesOf(name), (name) => meanings.get(name)?.items ?? 0);
    this.tray = new Tray((name) => {
      this.remove(name);
      this.focus();
    });
    for (const [name, id] of Object.entries({ box: "groups", search: "search", by: "group-by", live: "found", about: "about" })) {
      this[name] = document.getElementById(id);
    }
    this.place = null; // the row or heading that one is on
    this.buttons = this.makeButtons();
    this.search.addEventListener("input", () => {
      this.isLiteral = false;
      this.draw();
    });
    this.search.addEventListener("focus", () => this.showState());
    this.search.addEventListener("blur", () => this.showState());
    this.by.addEventListener("change", () => {
      this.settleOn(null); // begin at the first: where one was may be far below
      this.draw();
    });
    this.box.addEventListener("click", (event) => this.clicked(event));
    this.box.addEventListener("focusin", (event) => {
      const item = event.target.closest(".row, summary");
      if (item && item !== this.place && event.target.matches(":focus-visible")) this.settleOn(item); // not before a tap has ended
    });
    for (const kind of ["pointerover", "pointerleave"]) this.box.addEventListener(kind, (event) => this.pointed(event));
  }

  get rows() {
    return this.groups.rows;
  }

  // said: () => what is said of the item, by label
  show(rows, said) {
    this.groups.begin(rows);
    this.said = said;
    this.search.value = "";
    this.isLiteral = false; // whether a digit is text
    this.place = null;
    this.draw();
    this.tray.show(this.said());
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
    this.box.replaceChildren(...(found ? [this.groups.list(found.slice(0, MOST_FOUND))] : this.groups.grouped(this.by.value)));
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
    if (!found.length) this.tell(t("no_match", { text }));
    else this.tell(t("found_of", { found: found.length, count: this.rows.length, name: found[0].name }));
  }

  makeButtons() {
    const says = make("span", "says");
    for (const say of SAYS) {
      const button = make("button", "", t(`short_${say}`));
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
    const believed = p === null ? "" : `, ${t("believed", { p: percent(p) })}`;
    item.setAttribute("aria-label", `${name}${believed}${why ? ` ${why}` : ""}${say ? `, ${t(say)}` : ""}`);
    if (item.contains(this.buttons)) this.paintButtons(item);
  }

  paintButtons(item) {
    for (const button of this.buttons.children) {
      button.setAttribute("aria-pressed", String(button.dataset.say === item.dataset.say));
      button.setAttribute("aria-label", t("button_of", { say: t(button.dataset.say), name: item.dataset.name }));
    }
  }

  // Marks were changed elsewhere.
  repaint(names) {
    for (const name of names) if (this.elements.has(name)) this.paint(this.elements.get(name));
    this.tray.show(this.said());
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
    this.about.textContent = description || (examples.length ? t("example", { text: examples[0] }) : "");
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
    this.search.placeholder = isBare ? t("find") : this.inBox ? t("type_to_find") : t("find_by", { key: this.keys.of("find") });
    for (const key of this.box.querySelectorAll(".accept-key")) key.textContent = this.inBox ? t("space") : this.keys.of("accept");
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
    this.tray.show(this.said());
    const [[{ name }, say]] = changes;
    this.tell(changes.length > 1 ? t("said_of_many", { count: changes.length, say: t(say) }) : `${name}: ${t(say ?? "unmarked")}`);
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
      this.tell(t("already_marked", { name: item.row.name }));
    }
  }

  moveOn() {
    const told = this.live.textContent;
    this.move(1);
    this.tell(told);
  }

  // Yes to all labels above the line.
  accept() {
    const likely = this.rows.filter(({ p }) => p >= LINE);
    this.acceptAll(likely.sort((a, b) => b.p - a.p), ["all_above_marked", "none_above"]);
  }

  // Yes to all labels from the first to the one beside a key; whether there is one.
  acceptUpTo(key) {
    const items = this.visible();
    const last = items.findIndex((item) => item.querySelector(".key").textContent === key);
    if (last >= 0) this.acceptAll(items.slice(0, last + 1).map((item) => item.row), ["all_up_to_marked", "none_up_to"], key);
    return last >= 0;
  }

  acceptAll(rows, [all, none], key = "") {
    if (!this.on.may()) return;
    const open = rows.filter(({ name }) => !(name in this.said()));
    if (open.length) this.say(open.map((row) => [row, "yes"]));
    else this.tell(t(rows.length ? all : none, { key }));
  }

  // A chosen label is no longer; whether that counted.
  remove(name) {
    const row = this.rows.find((each) => each.name === name);
    return row !== undefined && this.say([[row, null]]);
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
    else if (key.startsWith("UpTo")) return !this.isLiteral && this.acceptUpTo(key.at(-1));
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
      this.tell(t("already_marked", { name }));
    } else if (this.say([[item.row, "yes"]], true)) {
      this.clear();
      this.tell(`${name}: ${t("yes")}`);
    } else return;
    this.on.searched();
  }

  backspace(event) {
    if (this.inBox && this.search.value) {
      this.deletedAt = event.timeStamp;
      return false;
    }
    if (event.timeStamp < (this.deletedAt ?? -Infinity) + DELETING) return true;
    return this.remove(this.tray.last);
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

