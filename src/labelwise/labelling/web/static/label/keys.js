// Which key does what. Characters act alone where nothing can be typed, and in a search box that is empty only those that
// no search begins with; Alt with a letter acts everywhere. A person may switch single characters off, change them, and
// give labels keys of their own.

import { storage } from "../outbox.js";
import { t } from "../texts.js";

const USUAL = {
  yes: "y", no: "n", unsure: "u", accept: "a", reject: "x", skip: "s", undo: "z", mode: "m", about: "i", guidelines: "g", help: "?", find: "/",
  zoom_in: "+", zoom_out: "-", zoom_fit: "0",
};
const ROW_KEYS = [..."123456789bcdefhjklopqrtvw"]; // of the labels in sight, in order
const IN_EMPTY_BOX = /^[0-9 ?/+-]$/;

export class Keys {
  constructor(name) {
    this.name = name;
    const kept = JSON.parse(storage.get(name) ?? "{}");
    this.single = kept.single ?? true; // whether a character alone does anything
    this.letters = kept.letters ?? "auto"; // "find", "keys", or by the number of labels
    this.changed = new Map(Object.entries(kept.changed ?? {})); // what to do: its key
    this.own = new Map(Object.entries(kept.own ?? {})); // label: its key
  }

  save() {
    const { single, letters } = this;
    const kept = { single, letters, changed: Object.fromEntries(this.changed), own: Object.fromEntries(this.own) };
    storage.set(this.name, JSON.stringify(kept));
  }

  of(command) {
    return this.changed.get(command) ?? USUAL[command];
  }

  // What a key does, if anything.
  command(key) {
    return Object.keys(USUAL).find((each) => this.of(each) === key) ?? null;
  }

  // Why a key cannot be used for something; null where it can.
  trouble(key, besides) {
    if (!/^[^\s\d]$/u.test(key)) return t("bad_key");
    const command = this.command(key);
    if (command !== null && command !== besides) return t("key_taken", { key, command: t(`command_${command}`) });
    const label = [...this.own].find(([name, own]) => own === key && name !== besides);
    return label ? t("key_of_label", { key, label: label[0] }) : null;
  }

  // The keys of the labels in sight: own ones, then digits, then letters that do nothing else.
  ofRows(names) {
    const taken = new Set([...Object.keys(USUAL).map((each) => this.of(each)), ...this.own.values()]);
    const free = ROW_KEYS.filter((key) => !taken.has(key));
    return new Map(names.map((name) => [name, this.own.get(name) ?? free.shift() ?? ""]));
  }

  // Shift with a digit, where that is no sign with another use and no digit itself: all labels up to the one beside it.
  isUpTo({ key, code, shiftKey }) {
    const isFree = this.command(key) === null && ![...this.own.values()].includes(key);
    return shiftKey && /^Digit[1-9]$/.test(code ?? "") && !/\d/.test(key) && isFree;
  }

  // The key that was pressed, as a command or a label may have it; null where it is text or not ours. `text` is what the
  // search box holds, or null where the focus is elsewhere.
  read(event, text) {
    const { key } = event;
    if (event.isComposing) return null;
    if (event.ctrlKey || event.metaKey) return key === "z" && !text && !event.shiftKey ? this.of("undo") : null;
    if (event.altKey) return altLetter(event);
    if (key.length > 1) return key;
    if (!this.single && key !== " ") return null;
    if (this.isUpTo(event) && !text) return `UpTo${event.code.at(-1)}`;
    if (text === null) return key;
    return (text === "" ? IN_EMPTY_BOX.test(key) : key === this.of("find")) ? key : null;
  }
}

// On some keyboards Alt makes another character of a letter.
function altLetter({ key, code }) {
  if (/^[a-z]$/i.test(key)) return key.toLowerCase();
  const letter = /^Key([A-Z])$/.exec(code ?? "");
  return letter ? letter[1].toLowerCase() : null;
}
