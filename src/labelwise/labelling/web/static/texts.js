// Texts of the page in its language: they come with it, from the server's file of that language.

const texts = JSON.parse(document.querySelector("meta[name=texts]").content);

// The text of a key with values put in; of a text that counts, the form for `count`.
export function t(key, values = {}) {
  if (!Object.hasOwn(texts, key)) throw new Error(`there is no text "${key}"`);
  const text = typeof texts[key] === "string" ? texts[key] : texts[key][values.count === 1 ? "one" : "other"];
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}
