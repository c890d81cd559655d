// Pictures that are zoomed and moved by keys, wheel, pointer and buttons; recordings and PDFs; and what is said in the
// place of one that cannot be shown.

import { t } from "./texts.js";

const MOST = 16; // times as large
const STEP = 1.5; // of a key, a button or a double click
const WHEEL = 0.0025; // of a turn of the wheel
const MOVED = 0.2; // share of the frame that a key moves a picture by
const KEYS = { "+": "zoom_in", "=": "zoom_in", "-": "zoom_out", 0: "zoom_fit" };
const ARROWS = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const zoomed = new WeakMap(); // by frame

class Zoomed {
  constructor(frame, image, buttons) {
    Object.assign(this, { frame, image, buttons, scale: 1, x: 0, y: 0 });
    frame.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    frame.addEventListener("dblclick", (event) => this.zoom(this.scale > 1 ? 1 / this.scale : STEP * STEP, this.place(event)));
    frame.addEventListener("pointerdown", (event) => this.grip(event));
    frame.addEventListener("pointermove", (event) => this.drag(event));
    buttons.addEventListener("click", (event) => this.command(event.target.closest("button")?.dataset.zoom));
    buttons.addEventListener("dblclick", (event) => event.stopPropagation());
    this.draw();
  }

  // Where the pointer is, from the middle of the frame.
  place({ clientX, clientY }) {
    const { left, top, width, height } = this.frame.getBoundingClientRect();
    return [clientX - left - width / 2, clientY - top - height / 2];
  }

  zoom(factor, [x, y] = [0, 0]) {
    const scale = Math.min(Math.max(this.scale * factor, 1), MOST);
    this.move(((scale / this.scale) - 1) * (this.x - x), ((scale / this.scale) - 1) * (this.y - y), scale);
  }

  // Move it, as far as its edges; whether there was anything to move.
  move(right, down, scale = this.scale) {
    const [x, y] = [this.x, this.y];
    const most = [this.frame.clientWidth, this.frame.clientHeight].map((size) => (size * (scale - 1)) / 2);
    this.scale = scale;
    this.x = Math.min(Math.max(x + right, -most[0]), most[0]);
    this.y = Math.min(Math.max(y + down, -most[1]), most[1]);
    this.draw();
    return this.x !== x || this.y !== y;
  }

  draw() {
    this.image.style.transform = `translate(${this.x}px, ${this.y}px) scale(${this.scale})`;
    this.frame.toggleAttribute("data-zoomed", this.scale > 1);
    this.frame.dataset.scale = this.scale.toFixed(2);
    for (const button of this.buttons.querySelectorAll("button")) {
      button.disabled = button.dataset.zoom === "zoom_in" ? this.scale >= MOST : this.scale <= 1;
    }
  }

  // With Ctrl, or two fingers, it zooms; alone it moves what is zoomed, and scrolls the page at the edge.
  wheel(event) {
    if (event.ctrlKey) this.zoom(Math.exp(-WHEEL * event.deltaY * (event.deltaMode ? 16 : 1)), this.place(event));
    else if (this.scale === 1 || !this.move(-event.deltaX, -event.deltaY)) return;
    event.preventDefault();
  }

  grip(event) {
    if (event.button || this.scale === 1 || event.target.closest("button")) return;
    event.preventDefault(); // no ghost of the picture is dragged
    this.frame.focus({ preventScroll: true });
    this.frame.setPointerCapture(event.pointerId);
  }

  drag(event) {
    if (this.frame.hasPointerCapture(event.pointerId)) this.move(event.movementX, event.movementY);
  }

  command(command) {
    if (command === "zoom_in") this.zoom(STEP);
    else if (command === "zoom_out") this.zoom(1 / STEP);
    else if (command === "zoom_fit") this.zoom(1 / this.scale);
    else return false;
    return true;
  }
}

function make(tag, properties = {}, ...inside) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...inside);
  return made;
}

// A picture in a frame in which it can be zoomed.
export function zoomable(image) {
  const signs = [["zoom_in", "+"], ["zoom_out", "−"], ["zoom_fit", "↺"]];
  const buttons = make("span", { className: "zooms" });
  for (const [command, sign] of signs) {
    const title = t(command);
    const button = make("button", { type: "button", textContent: sign, title, ariaLabel: title });
    button.dataset.zoom = command;
    buttons.append(button);
  }
  const frame = make("div", { className: "picture", tabIndex: 0, role: "group", ariaLabel: image.alt });
  image.replaceWith(frame);
  image.draggable = false;
  image.addEventListener("error", () => frame.replaceWith(missing(image.alt)));
  frame.append(image, buttons);
  zoomed.set(frame, new Zoomed(frame, image, buttons));
  if (image.complete && image.src && !image.naturalWidth) frame.replaceWith(missing(image.alt));
  return frame;
}

// Do what a key says to the picture that has the focus, or to the first; whether it says anything.
export function zoomKey(key, event, command = KEYS[key]) {
  const frame = document.activeElement?.closest(".picture") ?? document.querySelector(".picture");
  const picture = zoomed.get(frame);
  if (!picture || frame.offsetParent === null) return false;
  if (!(key in ARROWS)) return picture.command(command);
  if (picture.scale === 1 || !(event.shiftKey || document.activeElement === frame)) return false;
  const [right, down] = ARROWS[key];
  picture.move(right * MOVED * frame.clientWidth, down * MOVED * frame.clientHeight);
  return true;
}

// A word in the place of a picture or a recording.
export function missing(name) {
  return make("span", { className: "trouble missing", textContent: t("cannot_be_shown", { name }) });
}

// A recording or a PDF in the browser's own viewer; of a PDF that is not to be open, the link.
export function medium({ kind, address, field, file }, item, { open = true } = {}) {
  const name = [field, file].filter(Boolean).join(": ") || item;
  if (kind === "audio") {
    const audio = make("audio", { controls: true, preload: "metadata", src: address, ariaLabel: name });
    audio.addEventListener("error", () => audio.replaceWith(missing(name)));
    return make("figure", { className: "medium" }, make("figcaption", { textContent: name, dir: "auto" }), audio);
  }
  const link = make("a", { href: address, target: "_blank", rel: "noopener", textContent: name, dir: "auto" });
  if (!open) return make("figure", { className: "medium" }, make("figcaption", {}, link));
  const object = make("object", { type: "application/pdf", data: address, ariaLabel: name }, missing(name));
  return make("figure", { className: "medium" }, make("figcaption", {}, link), object);
}

// What the server has drawn.
const drawn = [...document.querySelectorAll("img[data-zoom]")];
drawn.forEach(zoomable);
for (const image of document.querySelectorAll("img[data-small]")) {
  const say = () => image.replaceWith(make("span", { className: "missing", textContent: "⚠", title: t("picture_missing"), ariaLabel: t("picture_missing") }));
  if (image.complete && !image.naturalWidth) say();
  else image.addEventListener("error", say);
}
for (const place of document.querySelectorAll("[data-medium]")) place.replaceWith(medium(JSON.parse(place.dataset.medium), place.dataset.item));
if (drawn.length) {
  document.addEventListener("keydown", (event) => {
    const isText = event.target.closest("input:not([type=checkbox]), select, textarea");
    if (isText || event.ctrlKey || event.metaKey || event.altKey) return;
    if (zoomKey(event.key, event)) event.preventDefault();
  });
}
