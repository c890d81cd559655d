// One by one: a label that is there although nobody asked about it is found by typing, and added.

import { percent } from "./groups.js";
import { isNewSearch } from "./search.js";
import { t } from "../texts.js";

const MOST = 6; // labels shown of those found

export class AddBox {
  // on: {rows(): the labels that may be added, finder, add(name): whether it was, enter(event), leave()}
  constructor(on) {
    this.on = on;
    this.search = document.getElementById("add");
    this.live = document.getElementById("add-found");
    this.hits = document.getElementById("add-hits");
    this.search.addEventListener("input", () => this.find());
    this.search.addEventListener("keydown", (event) => this.key(event));
    this.hits.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) this.add(button.dataset.name);
    });
  }

  found() {
    return this.on.finder.find(this.on.rows(), this.search.value);
  }

  find() {
    const text = this.search.value.trim();
    const found = this.found();
    this.hits.replaceChildren(...found.slice(0, MOST).map((row) => this.line(row)));
    if (!text) this.live.textContent = "";
    else if (!found.length) this.live.textContent = t("no_match", { text });
    else this.live.textContent = t("found_add", { count: found.length, name: found[0].name });
  }

  line({ name, p }) {
    const line = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.name = name;
    button.textContent = p === null ? name : `${name}  ${percent(p)}`;
    line.append(button);
    return line;
  }

  add(name) {
    if (this.on.add(name)) this.clear();
  }

  key(event) {
    if (event.isComposing) return;
    if (event.key === "Enter") this.enter(event);
    else if (event.key === "Escape") {
      this.clear();
      this.on.leave();
    } else if (event.key === "/" && isNewSearch(this.search, this.on.rows())) this.search.select();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  enter(event) {
    if (event.repeat) return;
    if (!this.search.value.trim()) return this.on.enter(event);
    const first = this.found()[0];
    if (first) this.add(first.name);
  }

  clear() {
    this.search.value = "";
    this.find();
  }
}
