import { normalizeUnicode } from '@switchyard/security';

/**
 * Characters that no reader sees: soft hyphens, zero-width and bidirectional controls, fillers, variation selectors beyond those of emoji,
 * and tag characters. Line breaks and tabs are no such characters.
 */
const INVISIBLE =
  /\u034f|[\ufe00-\ufe0d]|[\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;
const COMMENT_START = '<!--';
const COMMENT_END = '-->';

/** Returns a text as its readers see it: in NFKC, without invisible characters and without HTML comments. */
export function sanitizeText(text: string): string {
  return dropComments(removeInvisible(normalizeUnicode(text, 'NFKC')));
}

export function removeInvisible(text: string): string {
  return text.replace(INVISIBLE, '');
}

/** Drops HTML comments. A comment without an end reaches to the end of the text. */
function dropComments(text: string): string {
  const parts: string[] = [];
  for (let at = 0; at < text.length;) {
    const start = text.indexOf(COMMENT_START, at);
    parts.push(text.slice(at, start === -1 ? undefined : start));
    const end = start === -1 ? -1 : text.indexOf(COMMENT_END, start + COMMENT_START.length);
    at = end === -1 ? text.length : end + COMMENT_END.length;
  }
  // The parts before and after a comment can form the start of another one.
  return parts.join('').replaceAll(COMMENT_START, '<! --');
}
