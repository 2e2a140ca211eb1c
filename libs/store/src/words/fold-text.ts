import { normalizeUnicode } from '@switchyard/security';

/**
 * Characters that writers often leave out: accents of Latin, Greek and Cyrillic letters, vowel points of Hebrew, Arabic and Syriac,
 * variation selectors, soft hyphens, joiners and the Arabic tatweel. Marks of other scripts, such as dakuten and Indic vowel signs,
 * distinguish words. The value is the content of a character class of a regular expression.
 */
export const OPTIONAL_CHARACTERS = String.raw`\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f\u{e0100}-\u{e01ef}\u00ad\u200c\u200d\u2060\ufeff`;
const OPTIONAL = new RegExp(`[${OPTIONAL_CHARACTERS}]+`, 'gu');
const NOT_ASCII = /\P{ASCII}/u;
/** Kana, Chinese characters and Hangul syllables that folding does not change. */
const FOLDED = /^[\u3041-\u3096\u30a1-\u30fa\u30fc-\u30fe\u3400-\u9fff\uac00-\ud7a3]+$/;

/** Lower-case letters that differ from the lower case of their own upper case. */
const CASE_VARIANTS: Readonly<Record<string, string>> = { ß: 'ss', ς: 'σ', ı: 'i' };
const HAS_CASE_VARIANT = /[ßςı]/g;

/** Removes optional characters and compatibility forms and keeps the case. */
export function removeMarks(text: string): string {
  if (!NOT_ASCII.test(text) || FOLDED.test(text)) return text;
  return normalizeUnicode(text, 'NFKD').replace(OPTIONAL, '').normalize('NFC');
}

/** Lower-cases a text without marks. Texts that differ only in case become equal. */
export function foldCase(text: string): string {
  const lower = text.toLowerCase();
  return NOT_ASCII.test(lower) ? lower.replace(HAS_CASE_VARIANT, (letter) => CASE_VARIANTS[letter] ?? letter) : lower;
}
