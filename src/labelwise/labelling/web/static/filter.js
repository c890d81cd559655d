// Boxes that narrow a table down while one types: data-filters names the table body.
"use strict";
for (const box of document.querySelectorAll("[data-filters]")) {
  const rows = [...document.getElementById(box.dataset.filters).rows];
  const names = rows.map((row) => row.cells[0].textContent.toLowerCase());
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    rows.forEach((row, i) => { row.hidden = !words.every((word) => names[i].includes(word)); });
  });
  box.addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
}
