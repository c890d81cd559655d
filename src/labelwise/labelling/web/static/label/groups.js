// How labels are put in rows: the likeliest above and below a line, as a tree, by letter, or in one list. What is folded
// away is made when it is first looked at.

import { plain } from "./search.js";
import { t } from "../texts.js";

const MANY = 40; // labels above which those that are not suggested are folded away
export const LINE = 0.5; // probability from which one key accepts a label
const POSSIBLE = 0.1; // ... from which a label is suggested however many there are
const SUGGESTED = { least: 9, most: 25 }; // labels, where there are many
const OTHERS = t("others");
const PARTS = /\s*(?:\/|:+|>|\.|\|)\s*/; // "sport/tennis", "sport: tennis", "sport > tennis"

export const percent = (p) => (p === null ? "" : p > 0.995 ? "> 99 %" : p < 0.005 ? "< 1 %" : `${Math.round(100 * p)} %`);

export function make(tag, name, text = "") {
  const made = document.createElement(tag);
  made.className = name;
  made.textContent = text;
  return made;
}

export class LabelGroups {
  // on: {made(element): a row is new, unfolded(): other rows are to be seen}
  constructor(meanings, on) {
    this.meanings = meanings;
    this.on = on;
    this.rows = [];
    this.elements = new Map(); // by label
    this.folds = new Map(); // by title: whether it is open
  }

  // The labels of another item.
  begin(rows) {
    this.rows = rows;
    this.elements.clear();
    this.folds.delete(OTHERS);
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

  // What to show: grouped by "belief", "tree", "letter" or "none".
  grouped(wanted) {
    let by = wanted;
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
    const button = make("button", "quiet", `${t("accept_above", { count: number })} `);
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
      this.on.unfolded();
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
    const name = make("span", "label-name", row.name);
    name.dir = "auto";
    named.append(name);
    const above = this.meanings.get(row.name)?.parent ? this.pathOf(row.name).slice(0, -1) : [];
    if (above.length) named.append(make("small", "path", above.join(" › ")));
    if (row.why) named.append(make("small", "reason", row.why));
    item.append(key, named, make("span", "p", percent(row.p)));
    item.row = row;
    this.elements.set(row.name, item);
    this.on.made(item);
    return item;
  }
}

const allRows = ({ rows, nodes }) => [...rows, ...[...nodes.values()].flatMap(allRows)];
