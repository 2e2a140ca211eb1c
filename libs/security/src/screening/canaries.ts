import { CANARY, SECRET_PATTERNS } from './secret-patterns.ts';

const MARKS = new RegExp(
  SECRET_PATTERNS.flatMap(({ name, head, tail }) => (name === CANARY ? [`${head}${tail.source}*`] : [])).join('|'),
  'g',
);

/** Redacts prompt canaries in a complete text. JSON stays valid. */
export function redactCanaries(text: string): string {
  return text.replace(MARKS, `[REDACTED:${CANARY}]`);
}
