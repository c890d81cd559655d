// What an item looks like. Everything is put in as text, but for Markdown and HTML, which the server has sanitised.

import { medium, zoomable } from "./media.js";
import { t } from "./texts.js";

const $ = (id) => document.getElementById(id);
const MOST_READ = 500; // letters of a text that are read out
const WORD = /[\p{L}\p{N}_]{2,}/gu; // what the model takes for a word

export function showItem(question) {
  const { text, pictures, media, fields, words, html } = question.show;
  $("item-name").textContent = question.item;
  $("item-notes").href = `/browse/item?${new URLSearchParams({ name: question.item })}#notes`;
  $("why").textContent = question.why;
  $("pictures").replaceChildren(...pictures.map((address) => picture(address, question.item)), ...media.map((each) => medium(each, question.item)));
  fill($("text"), text ?? "", html[""], words);
  $("text").hidden = text === null;
  $("legend").hidden = !$("text").querySelector("mark");
  $("fields").tBodies[0].replaceChildren(...fields.map(([name, value]) => field(name, value, html[name])));
  $("fields").hidden = fields.length === 0;
}

// Tell those who do not see it that another item is here.
export function announce({ item, show }, labels) {
  const { text, pictures, media, fields } = show;
  const beginning = text ?? fields.map(([name, value]) => `${name}: ${value}`).join(", ");
  const seen = beginning || (pictures.length ? t("a_picture") : media.length ? t(media[0].kind === "audio" ? "a_recording" : "a_pdf") : "");
  $("announced").textContent = t("announced", { item, text: seen.slice(0, MOST_READ), count: labels });
}

// Show only the words of one label, or of all.
export function markFor(label) {
  $("legend-label").textContent = label === null ? t("a_label") : t("quoted", { text: label });
  for (const mark of $("text").querySelectorAll("mark")) {
    const said = JSON.parse(mark.dataset.labels);
    const weight = label === null ? strongest(said)[1] : (said.find(([name]) => name === label)?.[1] ?? 0);
    mark.classList.toggle("faint", weight === 0);
    mark.classList.toggle("against", weight < 0);
  }
}

function picture(address, name) {
  const image = document.createElement("img");
  image.src = address;
  image.alt = t("picture_of", { item: name });
  return zoomable(image);
}

function field(name, value, html) {
  const row = document.createElement("tr");
  const head = document.createElement("th");
  head.scope = "row";
  head.dir = "auto";
  head.textContent = name;
  const cell = document.createElement("td");
  cell.dir = "auto";
  fill(cell, value, html);
  row.append(head, cell);
  return row;
}

// A text with the words that tell marked, as it is or as the HTML that was made of it.
function fill(place, text, html, words = []) {
  place.classList.toggle("markup", html !== undefined);
  if (html === undefined) return place.replaceChildren(...marked(text, words));
  place.replaceChildren(...new DOMParser().parseFromString(html, "text/html").body.childNodes);
  const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
  const parts = [];
  while (walker.nextNode()) parts.push(walker.currentNode);
  for (const part of parts) part.replaceWith(...marked(part.data, words));
}

function marked(text, words) {
  const said = new Map();
  for (const [word, label, weight] of words) said.set(word, [...(said.get(word) ?? []), [label, weight]]);
  const parts = [];
  let end = 0;
  for (const found of text.matchAll(WORD)) {
    const labels = said.get(found[0].toLowerCase());
    if (!labels) continue;
    const mark = document.createElement("mark");
    mark.textContent = found[0];
    mark.dataset.labels = JSON.stringify(labels);
    mark.classList.toggle("against", strongest(labels)[1] < 0);
    mark.title = labels.map(([name, weight]) => t(weight < 0 ? "speaks_against" : "speaks_for", { name })).join(", ");
    parts.push(text.slice(end, found.index), mark);
    end = found.index + found[0].length;
  }
  return [...parts, text.slice(end)];
}

function strongest(said) {
  return said.reduce((a, b) => (Math.abs(b[1]) > Math.abs(a[1]) ? b : a));
}
