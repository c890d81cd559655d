// How long a person is busy with what is on screen: hidden tabs do not count, and of a pause no more than a minute.

const LONGEST_PAUSE = 60_000; // milliseconds without a key, a pointer or a scroll
const SIGNS_OF_LIFE = ["keydown", "pointermove", "pointerdown", "wheel", "scroll", "touchmove"];

export class ActiveClock {
  constructor() {
    this.active = 0; // milliseconds
    this.last = null; // when it was last looked at; null where it stands still
    for (const kind of SIGNS_OF_LIFE) document.addEventListener(kind, () => this.count(), { capture: true, passive: true });
    document.addEventListener("visibilitychange", () => this.count());
  }

  // Begin anew.
  start() {
    this.active = 0;
    this.last = performance.now();
    this.seen = document.visibilityState === "visible";
  }

  add(seconds) {
    this.active += 1000 * seconds;
  }

  // Nothing is on screen.
  stop() {
    this.active = 0;
    this.last = null;
  }

  // Add the time since the last look, if the page was to be seen in it.
  count() {
    if (this.last === null) return;
    const now = performance.now();
    if (this.seen) this.active += Math.min(Math.max(now - this.last, 0), LONGEST_PAUSE);
    this.seen = document.visibilityState === "visible";
    this.last = now;
  }

  // Seconds since the start or the last lap.
  lap() {
    this.count();
    const seconds = this.active / 1000;
    this.active = 0;
    return Math.round(1000 * seconds) / 1000;
  }
}
