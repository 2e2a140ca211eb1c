import { describeIssues, invalidParams, validate } from '@switchyard/contracts';
import { readFrontMatter } from './front-matter.ts';
import { normalizeHead } from './head-fields.ts';
import { SkillHead } from './skill-head.ts';

/** A parsed SKILL.md: its front matter, and the instructions below it. */
export interface SkillFile {
  head: SkillHead;
  body: string;
}

/** Parses a SKILL.md. Throws INVALID_ARGUMENT that names the field for a front matter that is missing or invalid. */
export function parseSkillFile(content: string, field = 'content'): SkillFile {
  const refuse = (expected: string, received: string): Error => createRefusal(field, expected, received);
  const { fields: given, body } = readFrontMatter(content, refuse);
  const { fields, spellings } = normalizeHead(given, refuse);
  const head = validate(SkillHead, fields);
  if (head.success) return { head: head.data, body };
  const issues = describeIssues(head.error, SkillHead).map(({ path, expected, received }) => {
    const [key = '', ...inner] = path.split('.');
    const name = [spellings.get(key) ?? key, ...inner].join('.');
    return { path: field, expected, received, message: `${field}: front matter field ${name}: expected ${expected}, got ${received}` };
  });
  throw invalidParams(issues);
}

function createRefusal(path: string, expected: string, received: string): Error {
  return invalidParams([{ path, expected, received, message: `${path}: expected ${expected}, got ${received}` }]);
}
