// Answers on their way to the server. Each waits in the browser's storage until the server says that it is on disk; sent
// again after a failure it counts once, because the server takes one answer per lease.

import { t } from "./texts.js";

// The browser's storage, or where it is full or forbidden, this page's memory.
const memory = new Map();
export const storage = {
  get: (key) => memory.get(key) ?? localStorage.getItem(key),
  set: (key, value) => {
    try {
      localStorage.setItem(key, value);
      memory.delete(key);
    } catch {
      memory.set(key, value);
    }
  },
  drop: (key) => {
    memory.delete(key);
    localStorage.removeItem(key);
  },
  keys: () => [...memory.keys(), ...Object.keys(localStorage)],
};

const RETRY = [500, 1000, 2000, 4000, 5000]; // milliseconds

export class Failure extends Error {
  constructor(status, message) {
    super(message);
    this.status = status; // 0: no connection
  }
}

export class Server {
  constructor() {
    this.csrf = document.querySelector("meta[name=csrf-token]").content;
  }

  async post(path, body) {
    let response = await this.send(path, body);
    if (response.status === 401 || response.status === 403) {
      await this.signIn();
      response = await this.send(path, body);
    }
    return this.read(response);
  }

  async get(path) {
    return this.read(await this.fetch(path, {}));
  }

  async send(path, body) {
    const headers = { "content-type": "application/json", "x-csrf-token": this.csrf };
    return this.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  }

  async fetch(path, options) {
    try {
      return await fetch(path, { ...options, credentials: "same-origin" });
    } catch {
      throw new Failure(0, t("failed_connection"));
    }
  }

  async read(response) {
    let body = null;
    try {
      body = await response.json();
    } catch {
      throw new Failure(response.ok ? 0 : response.status, t("failed_broke_off"));
    }
    if (!response.ok) {
      const told = typeof body.detail === "string" ? body.detail : t("failed_not_understood");
      throw new Failure(response.status, told);
    }
    return body;
  }

  // A new token where somebody came in again in another tab. A session itself begins only by a link.
  async signIn() {
    const response = await this.fetch("/api/session", {});
    if (response.ok) this.csrf = (await this.read(response)).csrf;
  }
}

export class Outbox {
  // on: {saved(entry, reply), refused(entry, message), changed()}
  constructor(server, project, who, ask, on) {
    this.server = server;
    this.prefix = `labelwise:${project}:${who}:answer:`;
    this.ask = ask; // what else to say with an answer: how many items to have, and what is here already
    this.on = on;
    this.failures = 0;
    this.trouble = null; // why the last try failed
    this.sending = null; // the entry under way
    this.timer = null;
    this.wakeUp = this.wakeUp.bind(this);
    window.addEventListener("online", this.wakeUp);
  }

  // Oldest first.
  entries() {
    const keys = storage.keys().filter((key) => key.startsWith(this.prefix));
    const found = keys.map((key) => JSON.parse(storage.get(key)));
    return found.sort((a, b) => a.at - b.at || a.order - b.order);
  }

  add(entry) {
    this.order = (this.order ?? 0) + 1;
    storage.set(this.prefix + entry.lease, JSON.stringify({ ...entry, at: Date.now(), order: this.order }));
    this.on.changed();
    this.wakeUp();
  }

  // Whether it could be taken out again before it was sent.
  withdraw(lease) {
    if (this.sending?.lease === lease || !this.holds(lease)) return false;
    storage.drop(this.prefix + lease);
    this.on.changed();
    return true;
  }

  holds(lease) {
    return storage.get(this.prefix + lease) !== null;
  }

  // The leases of everything that waits; an answer about a whole item may end several.
  leases() {
    return new Set(this.entries().flatMap((entry) => [entry.lease, ...(entry.leases ?? [])]));
  }

  wakeUp() {
    clearTimeout(this.timer);
    if (!this.sending) this.pump();
  }

  async pump() {
    for (let entry = this.entries()[0]; entry; entry = this.entries()[0]) {
      this.sending = entry;
      try {
        const body = { lease: entry.lease, ...this.ask() };
        if (entry.kind.startsWith("answer")) body.values = entry.values;
        if (entry.kind === "answer_item") body.whole = entry.whole;
        if (entry.timing) body.timing = entry.timing;
        if (entry.verified) body.verified = entry.verified;
        const reply = await this.server.post(`/api/${entry.kind}`, body);
        this.settle(entry);
        this.on.saved(entry, reply);
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        if ([400, 409, 422].includes(error.status)) {
          this.settle(entry);
          this.on.refused(entry, error.message);
        } else {
          this.sending = null;
          this.trouble = error;
          this.timer = setTimeout(this.wakeUp, RETRY[Math.min(this.failures, RETRY.length - 1)]);
          this.failures += 1;
          this.on.changed();
          return;
        }
      }
    }
  }

  settle(entry) {
    this.sending = null;
    this.failures = 0;
    this.trouble = null;
    storage.drop(this.prefix + entry.lease);
    this.on.changed();
  }

  // Resolves when nothing is under way.
  async quiet() {
    while (this.sending) await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
