// Taking back: the last thing said of the item on the page or, where nothing is said of it, the last answer or skip.

import { Failure } from "../outbox.js";
import { t } from "../texts.js";


export class Undo {
  // on: {steppedBack(names), withdrawn(seconds), reopened(), gone(), told(text), failed(text)}
  constructor(desk, server, outbox, on) {
    Object.assign(this, { desk, server, outbox, on });
    this.isBusy = false;
  }

  async undo() {
    if (this.isBusy || this.stepBack()) return;
    this.isBusy = true;
    try {
      const last = this.desk.done.at(-1);
      const questions = await this.takeBack(last);
      if (questions) this.reopen(last, questions);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      this.on.failed(`${error.status === 0 ? t("no_connection_undo") : error.message}.`);
    } finally {
      this.isBusy = false;
    }
  }

  stepBack() {
    const { desk } = this;
    const step = desk.question ? desk.trail.steps.pop() : undefined;
    if (!step) return false;
    desk.setMarks(desk.item, step);
    const names = step.map(([name]) => name);
    this.on.steppedBack(names);
    this.on.told(t("taken_back_of", { names: names.join(", ") }));
    return true;
  }

  // The questions that an answer or skip was to, ours again; null where it was refused meanwhile.
  async takeBack(last) {
    if (!last) return [await this.server.post("/api/undo", {})];
    if (this.withdraw(last)) return last.questions;
    await this.outbox.quiet();
    if (this.withdraw(last)) return last.questions;
    if (!this.desk.done.includes(last)) return null;
    return [await this.server.post("/api/undo", { event: last.event })];
  }

  // Whether an answer could be taken out before it was sent; the time it took is then sent with the next one.
  withdraw(last) {
    if (!this.outbox.withdraw(last.lease)) return false;
    this.on.withdrawn(last.taken?.seconds ?? 0); // of what was verified it is not: that is asked anew
    return true;
  }

  reopen(last, questions) {
    const { desk } = this;
    const { item } = questions[0];
    desk.done = desk.done.filter((done) => done !== last);
    const taken = last?.byStep ? last.steps.at(-1) : undefined;
    const again = questions.map((question) => ({ ...desk.learn(question), again: last?.asked ?? null }));
    const leases = new Set(again.map((question) => question.lease));
    desk.questions = desk.askable([...again, ...desk.questions.filter((other) => !leases.has(other.lease))]);
    this.on.told(t("taken_back"));
    if (!desk.questions.some((question) => leases.has(question.lease))) {
      this.on.gone();
      this.on.failed(t("too_late", { item }));
      return;
    }
    desk.trail = { item, steps: (last?.steps ?? []).filter((step) => step !== taken) };
    desk.keep(item, last?.said ?? {});
    if (taken) desk.setMarks(item, taken);
    this.on.reopened();
  }
}
