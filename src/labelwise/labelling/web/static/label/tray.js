// The labels that are chosen, always in sight: beside the list, or above the buttons where the screen is narrow.

import { make } from "./groups.js";
import { t } from "../texts.js";

const isNarrow = matchMedia("(max-width: 48rem)");

export class Tray {
  // remove(name): a chosen label was clicked
  constructor(remove) {
    this.box = document.getElementById("tray");
    this.chosen = document.getElementById("chosen");
    this.box.addEventListener("click", (event) => remove(event.target.closest("button[data-name]")?.dataset.name));
    const put = () => document.getElementById(isNarrow.matches ? "actions" : "label-head").prepend(this.box);
    isNarrow.addEventListener("change", put);
    put();
  }

  // said: by label
  show(said) {
    const chips = Object.entries(said).filter(([, say]) => say !== "no");
    this.last = chips.at(-1)?.[0];
    this.chosen.replaceChildren(...chips.map(([name, say]) => entry(name, say === "unsure")));
    this.box.toggleAttribute("data-empty", !chips.length);
  }
}

function entry(name, isUnsure) {
  const chip = make("button", `chip ${isUnsure ? "unsure" : "yes"}`, isUnsure ? `${name} ?` : name);
  chip.type = "button";
  chip.dir = "auto";
  chip.dataset.name = name;
  chip.setAttribute("aria-label", t(isUnsure ? "remove_unsure" : "remove", { name }));
  chip.append(make("span", "cross", "×"));
  const made = document.createElement("li");
  made.append(chip);
  return made;
}
