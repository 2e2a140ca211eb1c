import { readFileSync } from 'node:fs';

/** Replaces the lines between `begin` and `end`, which stay, in a file that is otherwise written by hand. */
export function withSection(file: string, [begin, end]: readonly [begin: string, end: string], content: string): string {
  const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
  const [head, rest, ...more] = text.split(`${begin}\n`);
  const [, tail, ...others] = rest?.split(`${end}\n`) ?? [];
  if (head === undefined || tail === undefined || more.length + others.length > 0)
    throw new Error(`${file} must contain the lines "${begin}" and "${end}" once each; \`make generate\` writes what is between them.`);
  return `${head}${begin}\n${content}${end}\n${tail}`;
}
