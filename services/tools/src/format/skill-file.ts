import { invalidParams } from '@switchyard/contracts';
import { parse } from 'yaml';
import { SkillHead } from './skill-head.ts';

/** A parsed SKILL.md: its front matter, and the instructions below it. */
export interface SkillFile {
  head: SkillHead;
  body: string;
}

const FRONT_MATTER = /^---\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/;

/** Parses a SKILL.md. Throws INVALID_ARGUMENT that names the field for a front matter that is missing or invalid. */
export function parseSkillFile(content: string, field = 'content'): SkillFile {
  const found = FRONT_MATTER.exec(content);
  if (!found) throw refuse(field, 'YAML front matter between two lines `---`, with name and description', 'none');
  let fields: unknown;
  try {
    fields = parse(found[1] ?? '', { maxAliasCount: 0, schema: 'core' });
  } catch (error) {
    throw refuse(field, 'valid YAML in the front matter', error instanceof Error ? (error.message.split('\n')[0] ?? '') : 'an error');
  }
  const head = SkillHead.safeParse(fields);
  if (!head.success) {
    const [issue] = head.error.issues;
    throw refuse(field, `a front matter with a valid ${issue?.path.join('.') || 'mapping'}`, issue?.message ?? 'another value');
  }
  return { head: head.data, body: content.slice(found[0].length).trim() };
}

function refuse(path: string, expected: string, received: string): Error {
  return invalidParams([{ path, expected, received, message: `${path}: expected ${expected}, got ${received}` }]);
}
