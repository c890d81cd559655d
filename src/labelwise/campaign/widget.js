// The widget of labelwise in notebooks: one item, its labels, and a box to find them. All texts are set as text.
function make(tag, text, parent) {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

function render({ model, el }) {
  let chosen = new Set();

  function send(what, state) {
    model.send({ do: what, number: state.number, present: [...chosen] });
  }

  function draw() {
    const state = model.get("state");
    chosen = new Set(state.chosen || []);
    el.replaceChildren();
    const box = make("div", undefined, el);
    box.style.cssText = "max-width:44rem;font:14px/1.4 sans-serif";
    make("small", `${state.answered} answered`, box);
    if (state.done) {
      make("p", "Nothing is left to ask.", box);
      return;
    }
    make("div", state.item, box).style.fontWeight = "bold";
    make("p", state.text, box).style.cssText = "white-space:pre-wrap;margin:.5em 0";
    const find = make("input", undefined, box);
    find.type = "text";
    find.placeholder = "type to find a label; Enter saves";
    find.setAttribute("aria-label", "find a label");
    find.style.cssText = "width:100%;box-sizing:border-box;padding:.3em";
    const list = make("div", undefined, box);
    list.style.cssText = "display:flex;flex-wrap:wrap;gap:.3em;margin:.5em 0;max-height:14em;overflow:auto";
    const buttons = state.labels.map((name) => {
      const p = state.likely[name];
      const button = make("button", p === undefined ? name : `${name} ${Math.round(100 * p)} %`, list);
      button.dataset.label = name;
      button.onclick = () => {
        if (!chosen.delete(name)) chosen.add(name);
        show();
      };
      return button;
    });

    function show() {
      const typed = find.value.trim().toLowerCase();
      for (const button of buttons) {
        const name = button.dataset.label;
        const there = chosen.has(name);
        button.setAttribute("aria-pressed", String(there));
        button.style.fontWeight = there ? "bold" : "normal";
        button.style.outline = there ? "2px solid #0072b2" : "none";
        button.hidden = !there && typed !== "" && !name.toLowerCase().includes(typed);
      }
    }

    find.oninput = show;
    find.onkeydown = (event) => {
      event.stopPropagation(); // the notebook has keys of its own
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      const first = buttons.find((button) => !button.hidden && !chosen.has(button.dataset.label));
      if (find.value.trim() === "") send("save", state);
      else if (first) {
        chosen.add(first.dataset.label);
        find.value = "";
        show();
      }
    };
    const row = make("div", undefined, box);
    for (const [what, text] of [["save", "Save"], ["skip", "Skip"], ["back", "Back"]]) {
      make("button", text, row).onclick = () => send(what, state);
    }
    show();
    find.focus({ preventScroll: true });
  }

  model.on("change:state", draw);
  draw();
  return () => model.off("change:state", draw);
}

export default { render };
