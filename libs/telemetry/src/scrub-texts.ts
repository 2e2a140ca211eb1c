import { isSecret } from './object-redaction.ts';
import { REDACTED, scrub } from './text-redaction.ts';

/** Length of a part that is scrubbed at once. A longer text is divided between words, because a secret contains no space. */
const MAX_PART = 8_192;

/**
 * Returns a copy of a JSON value of any size without secrets: values of secret keys and texts in a secret format are redacted, all other
 * text stays complete.
 */
export function scrubTexts<T>(value: T): T {
  return scrubValue(value) as T;
}

function scrubValue(value: unknown): unknown {
  if (typeof value === 'string') return scrubLong(value);
  if (Array.isArray(value)) return value.map(scrubValue);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [key, typeof field === 'string' && isSecret(key) ? REDACTED : scrubValue(field)]),
  );
}

function scrubLong(text: string): string {
  if (text.length <= MAX_PART) return scrub(text);
  const parts: string[] = [];
  for (let start = 0; start < text.length;) {
    const end = start + MAX_PART;
    const space = end >= text.length ? text.length : lastSpace(text, start, end);
    parts.push(scrub(text.slice(start, space)));
    start = space;
  }
  return parts.join('');
}

/** Returns the end of the part after its last white space; the whole part if it has none. */
function lastSpace(text: string, start: number, end: number): number {
  for (let at = end - 1; at > start; at -= 1) if (/\s/.test(text.charAt(at))) return at + 1;
  return end;
}
