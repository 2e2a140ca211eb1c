/**
 * Characters whose compatibility form has more than four times as many UTF-16 units, by Unicode 17: U+FDFA alone becomes eighteen.
 * The unit test compares the list with the Unicode version of the runtime.
 */
const EXPANDING =
  '\u321d\u321e\u327c\u3300\u3302\u3304\u3307\u3313\u3315-\u3317\u3319\u331a\u3320\u3321\u332b\u332d\u332e\u3332\u3334\u3336\u333b\u333d\u3340\u3347\u334a\u334c\u3354\u3356\u33ae\u33af\ufdfa\ufdfb';
const NORMALIZABLE = new RegExp(`[^${EXPANDING}]+`, 'gu');
const NOT_ASCII = /\P{ASCII}/u;

/** Combining marks after one character, as in the Stream-Safe Text Format of UAX #15. Sorting a longer run takes quadratic time. */
const MAX_MARKS = 30;
const LONG_MARKS = new RegExp(`(\\p{M}{${MAX_MARKS}})\\p{M}+`, 'gu');

/**
 * Normalizes a text of any client in linear time, to at most four times its length. Characters that would grow more stay as they are,
 * and marks after the 30th of a character are removed.
 */
export function normalizeUnicode(text: string, form: 'NFKC' | 'NFKD'): string {
  if (!NOT_ASCII.test(text)) return text;
  return text.replace(LONG_MARKS, '$1').replace(NORMALIZABLE, (run) => run.normalize(form));
}
