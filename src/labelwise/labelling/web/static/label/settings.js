// What a person may look up and change while labelling: what a label means, the guidelines, and which keys do what.

import { storage } from "../outbox.js";
import { t } from "../texts.js";

const $ = (id) => document.getElementById(id);

export class KeySettings {
  // changed(): the keys are others now
  constructor(keys, changed) {
    this.keys = keys;
    this.changed = changed;
    this.inputs = [...document.querySelectorAll("#own-keys input[data-command]")];
    $("single-keys").addEventListener("change", () => this.set({ single: $("single-keys").checked }));
    $("letters").addEventListener("change", () => this.set({ letters: $("letters").value }));
    for (const input of this.inputs) input.addEventListener("change", () => this.change(input));
    $("usual-keys").addEventListener("click", () => {
      keys.changed.clear();
      keys.own.clear();
      this.set({ single: true, letters: "auto" });
    });
    this.show();
  }

  set(chosen) {
    Object.assign(this.keys, chosen);
    this.keys.save();
    this.tell("");
    this.show();
    this.changed();
  }

  change(input) {
    const { command } = input.dataset;
    const trouble = this.keys.trouble(input.value, command);
    if (trouble) {
      this.show();
      return this.tell(trouble);
    }
    this.keys.changed.set(command, input.value);
    this.set({});
  }

  tell(text) {
    $("key-trouble").textContent = text;
    $("key-trouble").hidden = !text;
  }

  show() {
    $("single-keys").checked = this.keys.single;
    $("letters").value = this.keys.letters;
    for (const input of this.inputs) input.value = this.keys.of(input.dataset.command);
    for (const key of document.querySelectorAll("kbd[data-key]")) {
      key.textContent = this.keys.of(key.dataset.key);
      key.hidden = !this.keys.single;
    }
  }
}

// The dialog about a label: everything that is known of it, and its own key.
export class MeaningDialog {
  constructor(keys, meanings, changed) {
    Object.assign(this, { keys, meanings, changed });
    $("own-key").addEventListener("change", () => this.setKey($("own-key").value));
  }

  open(name, path) {
    this.name = name;
    const { description = "", examples = [], keywords = [], aliases = [], items = 0 } = this.meanings.get(name) ?? {};
    $("meaning-title").textContent = name;
    const parts = [
      [t("under"), path.slice(0, -1).join(" › ")],
      [t("meaning"), description],
      [t("also_called"), aliases.join(", ")],
      [t("words_for"), keywords.join(", ")],
      [t("items_with"), String(items)],
      ...examples.map((example) => [t("example_title"), example]),
    ];
    $("meaning-parts").replaceChildren(
      ...parts.filter(([, text]) => text).flatMap(([title, text]) => ["dt", "dd"].map((tag, place) => {
        const part = document.createElement(tag);
        part.textContent = place ? text : title;
        if (place) part.dir = "auto";
        return part;
      })),
    );
    $("own-key").value = this.keys.own.get(name) ?? "";
    this.tell("");
    $("meaning").showModal();
  }

  setKey(key) {
    const trouble = key === "" ? null : this.keys.trouble(key, this.name);
    this.tell(trouble ?? "");
    if (trouble) return;
    if (key === "") this.keys.own.delete(this.name);
    else this.keys.own.set(this.name, key);
    this.keys.save();
    this.changed();
  }

  tell(text) {
    $("own-key-trouble").textContent = text;
    $("own-key-trouble").hidden = !text;
  }
}

// Beside the item as long as the person wants them.
export class Guidelines {
  constructor(name) {
    this.name = name;
    this.panel = $("guidelines");
    $("guidelines-open")?.addEventListener("click", () => this.toggle());
    if (this.panel) this.show(storage.get(name) === "open");
  }

  toggle() {
    if (!this.panel) return;
    this.show(this.panel.hidden);
    storage.set(this.name, this.panel.hidden ? "closed" : "open");
  }

  show(isOpen) {
    this.panel.hidden = !isOpen;
    $("guidelines-open").setAttribute("aria-expanded", String(isOpen));
  }
}
