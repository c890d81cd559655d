// One by one: the few questions about an item that are worth asking, each answered by itself, and labels that one sees
// although nobody asked about them.

import { markFor } from "../item.js";
import { AddBox } from "./adding.js";
import { VALUE } from "./desk.js";
import { percent } from "./groups.js";
import { t } from "../texts.js";

const $ = (id) => document.getElementById(id);
const FEW = { least: 3, most: 8, unbelieved: 30 }; // questions

export class OneByOne {
  // on: {counts(): whether what is done now counts, send(says, questions, options), skip(questions), added(), changed(), enter(event)}
  constructor(desk, finder, on) {
    this.desk = desk;
    this.on = on;
    this.place = 0; // of the question shown
    this.box = new AddBox({
      rows: () => {
        const said = desk.marks();
        return desk.question ? desk.labels().filter(({ name }) => !(name in said)) : [];
      },
      finder,
      add: (name) => this.add(name),
      enter: on.enter,
      leave: () => $("asked").focus({ preventScroll: true }),
    });
    $("single").addEventListener("click", (event) => {
      const button = event.target.closest("button[data-say]");
      if (button) this.say(button.dataset.say);
    });
  }

  // The most doubtful labels of a whole item, or its pairs.
  steps() {
    return this.desk.bundle().flatMap((question) => {
      const labels = question.labels.map((row) => ({ lease: question.lease, ...row }));
      const again = labels.filter(({ name }) => question.again?.has(name)); // asked before, and taken back
      if (again.length) return again;
      if (labels.length === 1) return labels;
      if (labels.every(({ p }) => p === null)) return labels.slice(0, FEW.unbelieved);
      const byDoubt = labels.sort((a, b) => Math.abs(a.p - 0.5) - Math.abs(b.p - 0.5));
      return byDoubt.filter(({ p }, place) => place < FEW.least || (place < FEW.most && p > 0.05 && p < 0.95));
    });
  }

  firstOpen() {
    const said = this.desk.marks();
    return Math.max(0, this.steps().findIndex(({ name }) => !(name in said)));
  }

  // -- answering ------------------------------------------------------------------------------------------------------

  // The lease is sent when nothing is left to ask about it, with the labels that were added.
  say(say) {
    const asked = this.steps()[this.place];
    if (!asked || !this.on.counts()) return;
    this.desk.remember([[asked.name, say]]);
    const says = this.desk.marks();
    const open = this.steps().filter(({ lease, name }) => lease === asked.lease && !(name in says));
    if (open.length === 0) {
      const question = this.desk.questions.find((each) => each.lease === asked.lease);
      this.on.send(says, this.withAnswered(question, says), { isPart: true, byStep: true });
    } else {
      const after = this.steps().findIndex(({ name }, place) => place > this.place && !(name in says));
      this.place = after >= 0 ? after : this.firstOpen();
      this.show();
    }
  }

  // A question, and the others about single labels of the item that are answered, too.
  withAnswered(question, says) {
    const isAnswered = (other) => other.labels.every(({ name }) => name in says);
    return [question, ...this.desk.bundle().filter((other) => other.lease !== question.lease && isAnswered(other))];
  }

  // One question skipped; labels that were added to the item are not.
  skip() {
    const { lease } = this.steps()[this.place];
    const question = this.desk.bundle().find((each) => each.lease === lease);
    const asked = new Set(question.labels.map(({ name }) => name));
    const added = Object.fromEntries(Object.entries(this.desk.marks()).filter(([name]) => !asked.has(name)));
    if (Object.keys(added).length) this.on.send(added, this.withAnswered(question, added), { isPart: true });
    else this.on.skip([question]);
  }

  // Yes to a label that was found by typing; whether it counted.
  add(name) {
    if (!this.on.counts()) return false;
    this.on.added();
    const place = this.steps().findIndex((asked) => asked.name === name);
    if (place >= 0) {
      this.place = place;
      this.say("yes");
    } else {
      this.desk.remember([[name, "yes"]]);
      this.desk.notePick({ name }, true);
      this.show();
    }
    return true;
  }

  move(change) {
    this.goTo(Math.min(Math.max(this.place + change, 0), this.steps().length - 1));
  }

  goTo(place) {
    this.place = place;
    this.show();
  }

  // Marks of these labels were taken back.
  repaint(names) {
    const place = this.steps().findIndex(({ name }) => names.includes(name));
    this.goTo(place >= 0 ? place : this.place);
  }

  // A key that was meant for the question; whether it was.
  key(key, command) {
    if (command in VALUE) this.say(command);
    else if (key === "ArrowDown" || key === "ArrowRight") this.move(1);
    else if (key === "ArrowUp" || key === "ArrowLeft") this.move(-1);
    else if (command === "find") $("add").focus();
    else return false;
    return true;
  }

  // -- showing --------------------------------------------------------------------------------------------------------

  show() {
    const all = this.steps();
    const asked = all[this.place];
    if (!asked) return;
    const said = this.desk.marks();
    const earlier = this.desk.done.filter((done) => done.item === this.desk.item && Object.keys(done.values).length);
    const answered = earlier.reduce((sum, done) => sum + done.questions.length, 0);
    const number = answered + all.length;
    $("step").textContent = number === 1 ? t("one_question") : t("question_of", { number: answered + this.place + 1, count: number });
    $("asked").textContent = asked.name;
    showBelief(asked);
    const say = said[asked.name];
    for (const button of document.querySelectorAll("#single button[data-say]")) {
      button.setAttribute("aria-pressed", String(button.dataset.say === say));
    }
    const names = new Set(all.map(({ name }) => name));
    const added = Object.entries(said).filter(([name]) => !names.has(name));
    const lines = [
      ...earlier.flatMap((done) => Object.entries(done.said).map(([name, told]) => line(name, t(told), false))),
      ...added.map(([name, told]) => line(name, t("added", { say: t(told) }), false)),
      ...all.map(({ name }, place) => line(name, said[name] ? t(said[name]) : "", place === this.place)),
    ];
    $("steps").replaceChildren(...lines);
    $("steps").hidden = lines.length === 1;
    markFor(asked.name);
    $("asked").focus({ preventScroll: true });
    this.on.changed();
  }
}

function line(name, say, isCurrent) {
  const made = document.createElement("li");
  const told = document.createElement("span");
  made.textContent = name;
  told.textContent = say;
  made.append(told);
  if (isCurrent) made.setAttribute("aria-current", "step");
  return made;
}

function showBelief({ p, why }) {
  const track = document.createElement("div");
  track.className = "track";
  const fill = document.createElement("div");
  fill.className = "fill";
  fill.style.setProperty("--p", p ?? 0);
  track.append(fill);
  $("belief").hidden = p === null;
  $("belief").replaceChildren(`${t("believed_line", { p: percent(p) })}${why ? `, ${why}` : ""}`, track);
}
