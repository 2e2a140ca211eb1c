import assert from 'node:assert/strict';

/** Returns the part of the text that the first group matches. */
export function extract(text: string, pattern: RegExp): string {
  return pattern.exec(text)?.[1]?.trim() ?? assert.fail(`${String(pattern)} is not in ${text}`);
}

/** Returns the quoted parts of a text. */
export function listQuoted(text: string): string[] {
  return [...text.matchAll(/"\s*(.*?)\s*"/g)].map(([, quoted = '']) => quoted);
}

export function getQuoted(text: string): string {
  return listQuoted(text)[0] ?? assert.fail(`nothing is quoted in ${text}`);
}

/** Returns the position that a text names, for example 1 for "the 2nd word". */
export function getPosition(text: string): number {
  return Number(extract(text, /(\d+)(?:st|nd|rd|th)/)) - 1;
}

/** Returns the words of a snapshot of plain text. */
export function getPlainText(text: string): string {
  return text.replaceAll(/^ *- /gm, '').replaceAll('\n', ' ').trim();
}
