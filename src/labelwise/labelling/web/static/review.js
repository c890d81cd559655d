// Disagreements: y and n settle the one that has the focus, arrows go to another.
"use strict";
const disputes = [...document.querySelectorAll(".dispute")];
const place = () => disputes.findIndex((each) => each.contains(document.activeElement));
const go = (step) => disputes[Math.min(Math.max(place() + step, 0), disputes.length - 1)]?.querySelector("button.settle").focus();
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || event.repeat || event.target.closest("input, textarea, select")) return;
  if (event.key === "ArrowDown") go(1);
  else if (event.key === "ArrowUp") go(-1);
  else if ((event.key === "y" || event.key === "n") && place() >= 0) disputes[place()].querySelector(`button[name=${event.key === "y" ? "yes" : "no"}]`).click();
  else return;
  event.preventDefault();
});
