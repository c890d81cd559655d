// Finding a label by a few letters: exact names first, then names that begin so, then words in them, then one typo; of
// those that match equally well the likelier comes first, then the one that more items have. Other names of a label, and
// the labels above it, count, too.

const EXACT = 0, PREFIX = 1, WORD = 2, PART = 3, TYPO = 4, NONE = 5;
const LEAST_TYPO = 4; // letters from which one may be wrong

export const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
const wordsOf = (text) => text.match(/[\p{L}\p{N}]+/gu) ?? [];
const inOrder = (words) => [...words].sort().join(" ");

// Whether a word begins with what was typed, but for one letter that is wrong, missing, too much, or swapped.
export function beginsNearly(word, typed) {
  let same = 0;
  while (same < typed.length && typed[same] === word[same]) same += 1;
  if (same === typed.length) return true;
  const rest = (from, at) => word.startsWith(typed.slice(from), at);
  const isSwapped = typed[same] === word[same + 1] && typed[same + 1] === word[same] && rest(same + 2, same + 2);
  return rest(same + 1, same + 1) || rest(same + 1, same) || rest(same, same + 1) || isSwapped;
}

function match(name, typed) {
  if (name.plain === typed.plain || name.inOrder === typed.inOrder) return EXACT;
  if (name.plain.startsWith(typed.plain)) return PREFIX;
  const every = typed.words.length > 0;
  if (every && typed.words.every((word) => name.words.some((own) => own.startsWith(word)))) return WORD;
  if (typed.parts.every((part) => name.plain.includes(part))) return PART;
  const near = (word) => (own) => (word.length < LEAST_TYPO ? own.startsWith(word) : beginsNearly(own, word));
  return every && typed.words.every((word) => name.words.some(near(word))) ? TYPO : NONE;
}

function indexed(text) {
  const words = wordsOf(plain(text));
  return { plain: plain(text), words, inOrder: words.length ? inOrder(words) : plain(text) };
}

export class LabelSearch {
  // names: (label) => every text that stands for it, its own name first; number: (label) => of items that have it
  constructor(names, number) {
    this.names = names;
    this.number = number;
    this.index = new Map();
  }

  // The rows ({name, p}) that match, best first.
  find(rows, text) {
    const typed = { ...indexed(text.trim()), parts: plain(text).split(/\s+/).filter(Boolean) };
    if (!typed.parts.length) return [];
    return rows
      .map((row, place) => ({ row, place, rank: Math.min(...this.indexOf(row.name).map((name) => match(name, typed))) }))
      .filter(({ rank }) => rank < NONE)
      .sort((a, b) => a.rank - b.rank || (b.row.p ?? -1) - (a.row.p ?? -1) || this.commoner(a, b) || a.place - b.place)
      .map(({ row }) => row);
  }

  commoner(a, b) {
    return this.number(b.row.name) - this.number(a.row.name);
  }

  indexOf(label) {
    if (!this.index.has(label)) this.index.set(label, this.names(label).map(indexed));
    return this.index.get(label);
  }
}

// Whether "/" in a search box begins a new search. It is a letter where a label contains what would then be typed.
export function isNewSearch(box, rows) {
  const { value, selectionStart, selectionEnd } = box;
  const typed = plain(`${value.slice(0, selectionStart)}/${value.slice(selectionEnd)}`).trim();
  return typed === "/" || !rows.some(({ name }) => plain(name).includes(typed));
}
