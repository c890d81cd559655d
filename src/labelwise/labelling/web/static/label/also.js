// "Also?": likely labels that are not marked are asked about once more before an item is saved, in the place of the list.

import { GUARD } from "./desk.js";
import { t } from "../texts.js";

const $ = (id) => document.getElementById(id);
const MOST = Number(document.body.dataset.mostVerified);

export class Also {
  // on: {timing(says), lap(): seconds, pressedAt(), hint(text), changed(), send(says, options), left(seconds)}
  constructor(desk, on) {
    this.desk = desk;
    this.on = on;
    this.asked = null; // the item, what was marked, the names, those that are there, since when, the time taken before
    $("also").addEventListener("click", (event) => {
      const button = event.target.closest("button[data-place]");
      if (button) this.toggle(Number(button.dataset.place));
    });
  }

  get isOpen() {
    return this.asked !== null;
  }

  // Ask about likely labels that are not marked; whether there are any.
  ask(says) {
    const { desk } = this;
    const [question, ...others] = desk.bundle();
    const open = new Set(question.labels.map(({ name }) => name));
    if (!desk.isWhole || others.length || desk.labels().some(({ name }) => !open.has(name))) return false;
    const names = (question.also ?? []).filter((name) => open.has(name) && !(name in says)).slice(0, MOST);
    if (!names.length) return false;
    this.asked = { item: desk.item, says, names, yes: new Set(), taken: this.on.timing(says), at: performance.now() };
    this.show();
    return true;
  }

  toggle(place) {
    const name = this.asked.names[place];
    if (name === undefined || !this.counts()) return;
    if (!this.asked.yes.delete(name)) this.asked.yes.add(name);
    this.show();
  }

  // Whether the labels have been on screen for a moment: the Enter that brought them may be doubled.
  counts() {
    if (this.on.pressedAt() >= this.asked.at + GUARD) return true;
    this.on.hint(t("also_too_early"));
    return false;
  }

  save() {
    if (!this.counts()) return;
    const { says, names, yes, taken } = this.asked;
    const values = Object.fromEntries(names.map((name) => [name, yes.has(name)]));
    const timing = { seconds: this.on.lap(), question: "further", by_suggestion: yes.size };
    this.close();
    const rest = Object.entries(this.desk.withRest(says, "no")).filter(([name]) => !(name in values));
    if (rest.length) this.on.send(Object.fromEntries(rest), { taken, verified: { values, timing } });
    else this.on.send(Object.fromEntries(names.map((name) => [name, yes.has(name) ? "yes" : "no"])), { taken });
  }

  close() {
    this.asked = null;
    this.show();
  }

  // Back to the item, with its time.
  leave() {
    const { seconds } = this.asked.taken;
    this.close();
    this.on.left(seconds);
  }

  // Another item is on the page, or none.
  follow(item) {
    if (this.isOpen && this.asked.item !== item) this.close();
  }

  // A key that was meant for these labels; whether it was.
  key(key) {
    if (/^[1-9]$/.test(key)) this.toggle(Number(key) - 1);
    else if (key === "Escape") this.leave();
    else return false;
    return true;
  }

  show() {
    const { names, yes } = this.asked ?? { names: [], yes: new Set() };
    $("whole").toggleAttribute("data-also", this.isOpen);
    $("also").hidden = !this.isOpen;
    $("also-labels").replaceChildren(...names.map((name, place) => row(name, place, yes.has(name))));
    if (this.isOpen) $("also-title").focus({ preventScroll: true });
    this.on.changed();
  }
}

function row(name, place, isThere) {
  const button = document.createElement("button");
  const key = document.createElement("kbd");
  key.textContent = String(place + 1);
  button.type = "button";
  button.dataset.place = String(place);
  button.setAttribute("aria-pressed", String(isThere));
  button.append(key, ` ${name}`);
  const made = document.createElement("li");
  made.append(button);
  return made;
}
