import { CANARY, SECRET_PATTERNS } from './secret-patterns.ts';

const MARKS = new RegExp(
  SECRET_PATTERNS.flatMap(({ name, head, tail }) => (name === CANARY ? [`${head}${tail.source}*`] : [])).join('|'),
  'g',
);

/** A text that is there whole, without the marks of prompts in it. A JSON text stays one. */
export function withoutCanaries(text: string): string {
  return text.replace(MARKS, `[REDACTED:${CANARY}]`);
}
