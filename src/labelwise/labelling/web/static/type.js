// Larger or denser type, as this browser's person chose it; loaded before the page is drawn, so that nothing jumps.

(() => {
  const KEY = "labelwise-type";
  const root = document.documentElement;
  const show = (size) => (size ? (root.dataset.type = size) : delete root.dataset.type);
  let chosen = "";
  try {
    chosen = localStorage.getItem(KEY) ?? "";
  } catch {
    // without storage the type is the usual one
  }
  show(chosen);
  document.addEventListener("DOMContentLoaded", () => {
    for (const select of document.querySelectorAll("select.type-size")) {
      select.value = chosen;
      select.addEventListener("change", () => {
        show(select.value);
        try {
          localStorage.setItem(KEY, select.value);
        } catch {
          // it lasts as long as the page
        }
      });
    }
  });
})();
