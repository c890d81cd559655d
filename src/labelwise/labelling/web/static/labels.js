// The labels of a whole item: grouped, found by typing, answered by keys or buttons.

const SHORT = { yes: "Yes", no: "No", unsure: "?" };
const SPOKEN = { yes: "yes", no: "no", unsure: "unsure" };
const MANY = 40; // labels above which the unlikely ones are folded away
const PARTS = /\s*(?:\/|:|>|\.|\|)\s*/; // "sport/tennis", "sport: tennis", "sport > tennis"

export const percent = (p) => (p === null ? "" : p > 0.995 ? "> 99 %" : p < 0.005 ? "< 1 %" : `${Math.round(100 * p)} %`);
const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

// Why a label is likely: its source and the words that speak for it.
function reason(why) {
  const line = document.createElement("small");
  line.className = "reason";
  line.textContent = why;
  return line;
}

// Whether a name contains every word of a text, without regard to case and marks.
export function matcher(text) {
  const words = plain(text).split(/\s+/).filter(Boolean);
  return (name) => words.every((word) => plain(name).includes(word));
}

// Whether "/" in a search box begins a new search. It is a letter where a label contains what would then be typed.
export function isNewSearch(box, rows) {
  const { value, selectionStart, selectionEnd } = box;
  const typed = `${value.slice(0, selectionStart)}/${value.slice(selectionEnd)}`;
  return typed.trim() === "/" || !rows.some(({ name }) => matcher(typed)(name));
}

export class LabelList {
  // on: {may(): whether what is said counts, say(row, say, isFound), searched(), enter(event), here(label or null)}; a row is {name, p, why}
  constructor(on) {
    this.on = on;
    this.box = document.getElementById("groups");
    this.search = document.getElementById("search");
    this.by = document.getElementById("group-by");
    this.live = document.getElementById("found");
    this.rows = [];
    this.search.addEventListener("input", () => {
      this.tell("");
      this.filter();
    });
    this.search.addEventListener("keydown", (event) => this.searchKey(event));
    this.by.addEventListener("change", () => this.draw());
    this.box.addEventListener("click", (event) => this.clicked(event));
    this.box.addEventListener("focusin", (event) => this.settleOn(event.target.closest(".row"), false));
    this.box.addEventListener("mouseover", (event) => {
      const row = event.target.closest(".row");
      if (row) this.on.here(row.dataset.name);
    });
    this.box.addEventListener("mouseleave", () => this.on.here(null));
  }

  show(rows, says) {
    this.rows = rows;
    this.says = says;
    this.search.value = "";
    this.tell("");
    this.draw();
  }

  draw() {
    const groups = this.grouped();
    const many = this.rows.length > MANY;
    this.elements = [];
    this.box.replaceChildren(
      ...groups.map(([title, rows]) => {
        const list = document.createElement("ul");
        const folded = many && title === "Unlikely";
        if (folded) list.later = rows;
        else list.append(...rows.map((row) => this.element(row)));
        if (groups.length === 1 && title === "") return list;
        const details = document.createElement("details");
        details.open = !folded;
        details.addEventListener("toggle", () => this.unfold(list));
        const summary = document.createElement("summary");
        summary.textContent = `${title} · ${rows.length}`;
        details.append(summary, list);
        return details;
      }),
    );
    this.filter();
  }

  // Rows that are folded away are made when they are first looked at: with hundreds of labels they are most of the page.
  unfold(list) {
    if (!list.later) return;
    list.append(...list.later.map((row) => this.element(row)));
    delete list.later;
  }

  grouped() {
    const believed = this.rows.some((row) => row.p !== null);
    let by = this.by.value;
    if (by === "belief" && !believed) by = this.rows.length > MANY ? (this.havePrefixes() ? "prefix" : "letter") : "none";
    if (by === "none") return [["", this.rows]];
    const groups = new Map();
    const order = by === "belief" ? [...this.rows].sort((a, b) => (b.p ?? -1) - (a.p ?? -1)) : this.sorted();
    for (const row of order) {
      const title =
        by === "belief" ? (row.p === null ? "Others" : row.p >= 0.5 ? "Likely" : row.p >= 0.1 ? "Possible" : "Unlikely")
        : by === "prefix" ? row.name.split(PARTS)[0]
        : plain(row.name)[0].toUpperCase();
      groups.set(title, [...(groups.get(title) ?? []), row]);
    }
    return [...groups];
  }

  sorted() {
    return [...this.rows].sort((a, b) => a.name.localeCompare(b.name));
  }

  havePrefixes() {
    return this.rows.filter((row) => PARTS.test(row.name)).length > this.rows.length / 2;
  }

  element(row) {
    const item = document.createElement("li");
    item.className = "row";
    item.tabIndex = -1;
    item.dataset.name = row.name;
    item.dataset.plain = plain(row.name);
    item.setAttribute("role", "group");
    if (row.p !== null) item.style.setProperty("--p", row.p);
    const parts = ["key", "label-name", "p"].map((name) => {
      const part = document.createElement("span");
      part.className = name;
      return part;
    });
    parts[0].setAttribute("aria-hidden", "true");
    parts[1].textContent = row.name;
    const named = document.createElement("span");
    named.className = "named";
    named.append(parts[1], ...(row.why ? [reason(row.why)] : []));
    parts[2].textContent = percent(row.p);
    const says = document.createElement("span");
    says.className = "says";
    for (const say of Object.keys(SHORT)) {
      const button = document.createElement("button");
      button.type = "button";
      button.tabIndex = -1;
      button.dataset.say = say;
      button.textContent = SHORT[say];
      button.setAttribute("aria-label", `${SPOKEN[say]}: ${row.name}`);
      says.append(button);
    }
    item.append(parts[0], named, parts[2], says);
    item.row = row;
    this.paint(item);
    this.elements.push(item);
    return item;
  }

  paint(item) {
    const say = this.says(item.row);
    if (say) item.dataset.say = say;
    else delete item.dataset.say;
    for (const button of item.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(button.dataset.say === say));
    }
    const believed = item.row.p === null ? "" : `, believed ${percent(item.row.p)}`;
    const why = item.row.why ? ` ${item.row.why}` : "";
    item.setAttribute("aria-label", `${item.row.name}${believed}${why}${say ? `, ${SPOKEN[say]}` : ""}`);
  }

  filter() {
    const text = this.search.value.trim();
    const wanted = plain(text).split(/\s+/).filter(Boolean);
    if (wanted.length) for (const list of this.box.querySelectorAll("ul")) this.unfold(list);
    for (const item of this.elements) item.hidden = !wanted.every((word) => item.dataset.plain.includes(word));
    for (const details of this.box.querySelectorAll("details")) {
      const list = details.querySelector("ul");
      const some = Boolean(list.later) || list.querySelector(".row:not([hidden])") !== null;
      details.hidden = !some;
      if (wanted.length && some) details.open = true;
    }
    const visible = this.visible();
    for (const key of this.box.querySelectorAll(".key:not(:empty)")) key.textContent = "";
    visible.slice(0, 9).forEach((item, place) => (item.querySelector(".key").textContent = String(place + 1)));
    if (wanted.length && !visible.length) this.tell(`No open label contains “${text}”.`);
    else if (wanted.length) this.tell(`${visible.length} of ${this.rows.length} ${this.rows.length === 1 ? "label" : "labels"}`);
    this.settleOn(visible[0] ?? null, false);
  }

  // In the order in which they are seen; what is folded away is not.
  visible() {
    return [...this.box.querySelectorAll(".row:not([hidden])")].filter((item) => item.closest("details")?.open ?? true);
  }

  settleOn(item, focus = true) {
    for (const other of this.box.querySelectorAll("[data-here]")) {
      if (other !== item) {
        delete other.dataset.here;
        other.tabIndex = -1;
      }
    }
    if (!item) return;
    item.dataset.here = "";
    item.tabIndex = 0;
    if (focus) {
      item.focus();
      this.on.here(item.dataset.name);
    }
  }

  here() {
    return this.box.querySelector("[data-here]");
  }

  move(step) {
    const visible = this.visible();
    const place = visible.indexOf(this.here());
    const focused = this.box.contains(document.activeElement);
    this.settleOn(visible[focused ? Math.min(Math.max(place + step, 0), visible.length - 1) : Math.max(place, 0)]);
  }

  // Mark a label, or take the same mark back; whether it counted.
  say(item, say, isFound = this.search.value.trim() !== "") {
    if (!item || !this.on.may()) return false;
    const before = this.says(item.row);
    this.on.say(item.row, before === say ? null : say, isFound);
    this.paint(item);
    this.tell(`${item.row.name}: ${before === say ? "unmarked" : SPOKEN[say]}`);
    return true;
  }

  // Mark a label; pressed again the mark stays, so that a key pressed twice says the same.
  sayAgain(item, say) {
    if (!item || this.says(item.row) !== say) return this.say(item, say);
    if (!this.on.may()) return false;
    this.tell(`“${item.row.name}” is already marked.`);
    return true;
  }

  // A mark was changed elsewhere.
  repaint(name) {
    const item = this.elements.find((each) => each.row.name === name);
    if (!item) return;
    this.paint(item);
    this.tell("");
    this.settleOn(item);
  }

  // A key that was meant for the labels; whether it was.
  key(event) {
    const says = { y: "yes", n: "no", u: "unsure" };
    if (event.key in says) {
      if (this.sayAgain(this.here(), says[event.key])) this.move(1);
    } else if (event.key === " ") this.say(this.here(), "yes");
    else if (event.key === "ArrowDown" || event.key === "j") this.move(1);
    else if (event.key === "ArrowUp" || event.key === "k") this.move(-1);
    else if (/^[1-9]$/.test(event.key)) {
      const item = this.visible()[Number(event.key) - 1];
      if (this.say(item, "yes")) this.settleOn(item);
    } else if (event.key === "/") {
      this.search.focus();
      this.search.select();
    } else return false;
    return true;
  }

  searchKey(event) {
    if (event.isComposing) return;
    if (event.key === "Enter") this.searchEnter(event);
    else if (event.key === "Escape") {
      this.tell("");
      this.clear();
      this.settleOn(this.here() ?? this.visible()[0]);
    } else if (event.key === "/" && isNewSearch(this.search, this.rows)) this.search.select();
    else if (event.key === "ArrowDown") this.settleOn(this.visible()[0]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // Enter says yes to the first label found, and never takes a yes back. What finds nothing stays as it was typed.
  searchEnter(event) {
    if (event.repeat) return;
    if (!this.search.value.trim()) return this.on.enter(event);
    const first = this.visible()[0];
    if (!first) return;
    if (this.says(first.row) === "yes") this.tell(`“${first.row.name}” is already marked.`);
    else if (!this.say(first, "yes")) return;
    this.on.searched();
    this.clear();
  }

  clear() {
    this.search.value = "";
    this.filter();
  }

  clicked(event) {
    const item = event.target.closest(".row");
    const button = event.target.closest("button[data-say]");
    if (!item) return;
    if (button) this.say(item, button.dataset.say);
    else if (event.target.closest(".named")) this.say(item, "yes");
    this.settleOn(item); // so that Enter saves instead of pressing the button again
  }

  tell(text) {
    this.live.textContent = text;
  }
}
