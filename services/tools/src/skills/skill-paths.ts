import { invalidParams } from '@switchyard/contracts';

export const SKILL_FILE = 'SKILL.md';

/** A text file of a skill; the path is relative to its folder. */
export interface SkillTextFile {
  path: string;
  content: string;
}

export const MAX_FILES = 200;
/** Characters of all files of a skill. */
export const MAX_CHARS = 4_000_000;
const SEGMENT = /^(?!\.{1,2}$)[^\0\\/]+$/;

/** Checks the paths and the size of the files of a skill. Throws INVALID_ARGUMENT that names the file. */
export function checkFiles(files: readonly SkillTextFile[]): void {
  const seen = new Set<string>();
  for (const [at, { path }] of files.entries()) {
    if (!path.split('/').every((segment) => SEGMENT.test(segment)))
      throw refuse(`files[${at}].path`, 'a relative path without . and ..', path);
    if (seen.has(path)) throw refuse(`files[${at}].path`, 'each path once', path);
    seen.add(path);
  }
  if (!seen.has(SKILL_FILE)) throw refuse('files', `a file ${SKILL_FILE}`, 'none');
  if (files.length > MAX_FILES) throw refuse('files', `at most ${MAX_FILES} files`, `${files.length}`);
  const chars = files.reduce((sum, { content }) => sum + content.length, 0);
  if (chars > MAX_CHARS) throw refuse('files', `at most ${MAX_CHARS} characters in all files`, `${chars}`);
}

/** Returns the text of SKILL.md. */
export function getSkillText(files: readonly SkillTextFile[]): string {
  return files.find(({ path }) => path === SKILL_FILE)?.content ?? '';
}

function refuse(path: string, expected: string, received: string): Error {
  return invalidParams([{ path, expected, received, message: `${path}: expected ${expected}, got ${received}` }]);
}
