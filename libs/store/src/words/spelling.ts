/** Shorter words match exactly, because many of them differ in one letter. */
const MIN_TOLERANT_LETTERS = 6;
const LETTERS_ONLY = new RegExp(String.raw`^\p{L}{${MIN_TOLERANT_LETTERS},}$`, 'u');

/** Returns whether a misspelling of the word is searched. Words with digits or vowel signs are not, because another sign is another word. */
export function isTolerant(word: string): boolean {
  return LETTERS_ONLY.test(word);
}

/** Returns whether two words with the same first letter differ by one letter, or by two neighbouring letters in the other order. */
export function isOneEdit(one: string, other: string): boolean {
  if (one.length > other.length) return isOneEdit(other, one);
  if (one[0] !== other[0] || other.length - one.length > 1 || one === other) return false;
  let start = 1;
  while (start < one.length && one[start] === other[start]) start += 1;
  if (one.length < other.length) return one.slice(start) === other.slice(start + 1);
  const isSwapped = one[start] === other[start + 1] && one[start + 1] === other[start];
  return one.slice(start + 1) === other.slice(start + 1) || (isSwapped && one.slice(start + 2) === other.slice(start + 2));
}
