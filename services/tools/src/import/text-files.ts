import { invalidParams } from '@switchyard/contracts';
import { MAX_CHARS, MAX_FILES, SKILL_FILE, type SkillTextFile } from '../skills/skill-paths.ts';

/** The files of an imported skill. Binary files are counted and left out. */
export interface ImportedFiles {
  files: readonly SkillTextFile[];
  skippedFiles: number;
}

/** Collects the text files of a skill up to the limits of a skill. Throws INVALID_ARGUMENT above them. */
export interface FileCollector {
  add(path: string, bytes: Uint8Array): void;
  skip(): void;
  finish(): ImportedFiles;
}

const MAX_LISTED_NAMES = 20;
const MAX_LISTED_CHARS = 100;

export function createFileCollector(): FileCollector {
  const files: SkillTextFile[] = [];
  let chars = 0;
  let skippedFiles = 0;
  return {
    add(path, bytes) {
      const content = decodeText(bytes);
      if (content === undefined) {
        skippedFiles += 1;
        return;
      }
      if (files.length >= MAX_FILES) throw refuseUrl(`a skill of at most ${MAX_FILES} files`, 'more');
      chars += content.length;
      if (chars > MAX_CHARS) throw refuseUrl(`a skill of at most ${MAX_CHARS} characters in all files`, 'more');
      files.push({ path, content });
    },
    skip: () => void (skippedFiles += 1),
    finish: () => ({ files, skippedFiles }),
  };
}

/** Returns the text of a file in UTF-8; undefined for other files. */
export function decodeText(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Throws INVALID_ARGUMENT that lists the names unless SKILL.md is one of them. */
export function requireSkillFile(names: readonly string[]): void {
  if (names.includes(SKILL_FILE)) return;
  const shown = names.slice(0, MAX_LISTED_NAMES).map((name) => name.slice(0, MAX_LISTED_CHARS));
  const more = names.length > shown.length ? ` and ${names.length - shown.length} more` : '';
  throw refuseUrl(`a folder with ${SKILL_FILE}`, shown.length === 0 ? 'no files' : `${shown.join(', ')}${more}`);
}

/** Creates INVALID_ARGUMENT for the address. */
export function refuseUrl(expected: string, received: string): Error {
  return invalidParams([{ path: 'url', expected, received, message: `url: expected ${expected}, got ${received}` }]);
}
