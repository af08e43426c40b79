// From a sentence to character ids, as by keras_elmo.batch_to_ids.

const CHARS = 50;
const BEGIN_WORD = 259;
const END_WORD = 260;
const PADDING = 261;
const BOUNDARIES = new Map([["<S>", 257], ["</S>", 258]]);

const SHORT = /(n['’]t|['’](?:s|m|d|re|ve|ll))(?!\p{L})/giu;
const WORD =
  /['’]\p{L}{1,2}(?!\p{L})|[\p{L}\p{M}\p{N}]+(?:[-.,'’_@][\p{L}\p{N}]+)*|\S\p{M}*/gu;

/** Splits at spaces, at punctuation, and as in "do n't" and "it 's". */
export function splitWords(text) {
  return text.replace(SHORT, " $1 ").match(WORD) ?? [];
}

/** The ids of a word: its UTF-8 bytes plus one, between two marks. */
export function wordIds(word) {
  const text = word.replace(/\p{Surrogate}/gu, ""); // Not valid in UTF-8.
  const bytes = new TextEncoder().encode(text).subarray(0, CHARS - 2);
  const codes = BOUNDARIES.get(text) ?? Array.from(bytes, (byte) => byte + 1);
  const ids = new Int32Array(CHARS).fill(PADDING);
  ids.set([BEGIN_WORD, codes, END_WORD].flat());
  return ids;
}

/** The ids of a sentence, of shape (1, words, 50). */
export function sentenceIds(words) {
  return Int32Array.from(words.flatMap((word) => [...wordIds(word)]));
}

export function cosine(a, b) {
  const product = (x, y) => x.reduce((sum, value, i) => sum + value * y[i], 0);
  return product(a, b) / Math.sqrt(product(a, a) * product(b, b));
}
