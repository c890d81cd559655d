// Check boxes of a list of items: all on the page at once, and how many are chosen.

import { t } from "./texts.js";

const form = document.getElementById("bulk");
const page = document.getElementById("whole-page");
if (form && page) {
  const boxes = [...form.querySelectorAll("input[name=item]")];
  const every = form.elements.every;
  const count = () => {
    const chosen = boxes.filter((box) => box.checked).length;
    page.checked = chosen === boxes.length;
    page.indeterminate = chosen > 0 && chosen < boxes.length;
    for (const box of [page, ...boxes]) box.disabled = every.checked;
    document.getElementById("chosen").textContent = every.checked ? t("bulk_every") : chosen ? t("bulk_chosen", { count: chosen }) : "";
  };
  page.addEventListener("change", () => {
    for (const box of boxes) box.checked = page.checked;
    count();
  });
  form.addEventListener("change", (event) => { if (event.target !== page) count(); });
  window.addEventListener("pageshow", count); // browsers keep what was checked
  count();
}
