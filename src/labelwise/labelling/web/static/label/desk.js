// The questions that are ours, the labels of their items, and what is said of them and not sent yet. Nothing of it is on
// screen by itself.

import { storage } from "../outbox.js";

export const GUARD = 250; // milliseconds that an item must be on screen before a key or a click says anything of it
export const VALUE = { yes: true, no: false, unsure: null };
const MOST_KEPT = 200; // answers of which the page knows the marks, for undo
const SUGGESTED = 0.1; // probability from which a label is shown as likely or possible

const bare = (said) => Object.assign(Object.create(null), said); // a label may be called "constructor"

export class Desk {
  // remembered: (name) => the name in the browser's storage
  constructor(remembered) {
    this.remembered = remembered;
    this.questions = []; // those that are ours and not answered, in order
    this.wholes = new Map(); // all open labels of an item, by its name
    this.unwanted = []; // leases to give back: of a label that another lease has, or with nothing left to ask
    this.said = JSON.parse(storage.get(remembered("marks")) ?? "{}"); // by item and label, not sent yet
    this.trail = { item: null, steps: [] }; // what was said of the item on the page, in order, to take it back step by step
    this.picked = new Map(); // how labels of the item on the page were picked: by_key, by_search or by_suggestion
    this.done = []; // what was answered or skipped here, for undo
    this.mode = storage.get(remembered("mode"));
  }

  // -- questions ------------------------------------------------------------------------------------------------------

  // What the server says is ours: known ones keep their place, new ones come after them. `sent` are leases on their way.
  take(reply, sent) {
    const known = new Map(this.questions.map((question) => [question.lease, question]));
    for (const question of reply.questions) known.set(question.lease, this.learn(question));
    const ours = new Set(reply.yours);
    this.questions = this.askable([...known.values()].filter((q) => ours.has(q.lease) && !sent.has(q.lease)));
    const items = new Set([...this.questions, ...this.done].map(({ item }) => item));
    for (const item of this.wholes.keys()) if (!items.has(item)) this.wholes.delete(item);
  }

  // Note all labels of an item, which come with one of the questions about it.
  learn(question) {
    const all = question.whole ?? question.labels;
    if (all.length) this.wholes.set(question.item, all);
    return question;
  }

  // No label of an item is asked about twice, whatever the leases say; those that would do it are given back.
  askable(questions) {
    const had = new Map();
    const kept = [];
    for (const question of questions) {
      if (!had.has(question.item)) had.set(question.item, this.answeredHere(question.item));
      const names = had.get(question.item);
      const labels = question.labels.filter(({ name }) => !names.has(name));
      for (const { name } of labels) names.add(name);
      if (labels.length) kept.push({ ...question, labels });
      else this.unwanted.push(question.lease);
    }
    return kept;
  }

  // The question shown, or undefined, and the item that it is about.
  get question() {
    return this.questions[0];
  }

  get item() {
    return this.question?.item;
  }

  get leases() {
    return this.questions.map(({ lease }) => lease);
  }

  // All questions about the item shown.
  bundle() {
    return this.questions.filter((question) => question.item === this.item);
  }

  // Labels of an item that were answered on this page.
  answeredHere(item) {
    return new Set(this.done.filter((done) => done.item === item).flatMap((done) => Object.keys(done.values)));
  }

  // Every label of the item shown that may be answered: those asked about and those that nobody asked about.
  labels() {
    const had = this.answeredHere(this.item);
    const asked = this.bundle().flatMap((question) => question.labels);
    const rows = new Map();
    for (const row of [...(this.wholes.get(this.item) ?? []), ...asked]) {
      if (!had.has(row.name) && !rows.has(row.name)) rows.set(row.name, row);
    }
    return [...rows.values()];
  }

  get isWhole() {
    return this.shownMode === "whole";
  }

  get shownMode() {
    return this.mode ?? (this.question?.labels.length === 1 || this.question?.again ? "single" : "whole");
  }

  setMode(mode) {
    this.mode = mode;
    storage.set(this.remembered("mode"), mode);
  }

  // -- what is said ---------------------------------------------------------------------------------------------------

  saidOf(item) {
    return bare(Object.hasOwn(this.said, item) ? this.said[item] : {});
  }

  // What is said of the item shown and not sent yet.
  marks() {
    const open = new Set(this.labels().map(({ name }) => name));
    return bare(Object.fromEntries(Object.entries(this.saidOf(this.item)).filter(([name]) => open.has(name))));
  }

  // What was said of labels at once is taken back at once.
  remember(changes) {
    const said = this.saidOf(this.item);
    this.trail.steps.push(changes.map(([label]) => [label, said[label] ?? null]));
    this.setMarks(this.item, changes);
  }

  // Begin the trail of another item with what was said of it before.
  follow(item) {
    if (this.trail.item === item) return;
    this.trail = { item, steps: Object.keys(this.marks()).map((label) => [[label, null]]) };
  }

  setMarks(item, changes) {
    const said = this.saidOf(item);
    for (const [label, say] of changes) {
      if (say === null) delete said[label];
      else said[label] = say;
    }
    this.keep(item, said);
  }

  // Keep what is said of an item, also over a reload; items that are no longer ours are forgotten.
  keep(item, said) {
    const ours = new Set(this.questions.map((question) => question.item));
    const kept = Object.entries(this.said).filter(([name]) => name !== item && ours.has(name));
    if (Object.keys(said).length) kept.push([item, said]);
    this.said = Object.fromEntries(kept);
    storage.set(this.remembered("marks"), JSON.stringify(this.said));
  }

  // How a label was picked: found by typing, among those suggested, or else by a key or a click.
  notePick({ name, p }, isFound) {
    this.picked.set(name, isFound ? "by_search" : (p ?? 0) >= SUGGESTED ? "by_suggestion" : "by_key");
  }

  // How many of those that were said to be there were picked in which way.
  ways(says) {
    const count = (way) => Object.entries(says).filter(([name, say]) => say === "yes" && this.picked.get(name) === way).length;
    return Object.fromEntries(["by_key", "by_search", "by_suggestion"].map((way) => [way, count(way)]));
  }

  // What is marked and, where the rest counts as no, that of every other open label.
  withRest(says, rest) {
    const unmarked = rest === "no" ? this.labels().filter(({ name }) => !(name in says)) : [];
    return { ...says, ...Object.fromEntries(unmarked.map(({ name }) => [name, "no"])) };
  }

  // These questions about an item are answered or skipped.
  close(questions, done) {
    const [{ lease, item }] = questions;
    const leases = questions.map((question) => question.lease);
    this.done.push({ lease, item, questions, said: this.saidOf(item), steps: this.trail.steps, event: null, ...done });
    this.done = this.done.slice(-MOST_KEPT);
    this.questions = this.questions.filter((other) => !leases.includes(other.lease));
    this.trail = { item, steps: [] };
    this.keep(item, {});
  }

  // An answer was not taken; what was said is kept in case it is asked again.
  refuse(lease) {
    const done = this.done.find((each) => each.lease === lease);
    this.done = this.done.filter((each) => each !== done);
    if (done) this.said = { ...this.said, [done.item]: done.said };
  }
}
