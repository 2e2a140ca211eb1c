/** An escaped backslash, which is skipped, or an escaped surrogate. `JSON.stringify` escapes surrogates only if they are unpaired. */
const ESCAPES = /\\\\|\\ud[89a-f][0-9a-f]{2}/g;
const REPLACEMENT = '\ufffd';

/**
 * Replaces unpaired surrogates in the output of `JSON.stringify`. Text that was cut inside a character has them, and providers reject the
 * request because it is not valid Unicode.
 */
export function toWellFormedJson(json: string): string {
  if (!json.includes('\\ud')) return json;
  return json.replaceAll(ESCAPES, (escape) => (escape === '\\\\' ? escape : REPLACEMENT));
}
