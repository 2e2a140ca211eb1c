import { formatCount } from '../../parts/format.ts';
import { readName } from './skill-template.ts';

/** Bounds of a skill. The service checks them as well. */
const MAX_FILES = 200;
const MAX_CHARS = 4_000_000;
/** A UTF-8 file with more bytes has more than MAX_CHARS characters. */
const MAX_FILE_BYTES = 3 * MAX_CHARS;
/** Largest number of files that are read. */
const MAX_ENTRIES = 10_000;
/** Bytes in which binary content is recognized before a large file is read. */
const SAMPLE_BYTES = 8_192;

/** The parts of a browser's file that this module reads. */
export type ChosenFile = Pick<File, 'name' | 'size' | 'slice' | 'arrayBuffer' | 'webkitRelativePath'>;

/** The text files of a folder that the operator chose. */
export interface ChosenFiles {
  /** The name in the front matter of SKILL.md, or an empty text. */
  name: string;
  files: { path: string; content: string }[];
  /** Characters of all files. */
  chars: number;
  /** Paths of hidden and binary files. */
  skipped: string[];
}

/** Reads the text files. Throws an error that names the bound for a folder that is too large. */
export async function readChosenFiles(chosen: readonly ChosenFile[]): Promise<ChosenFiles> {
  if (chosen.length > MAX_ENTRIES) throw tooLarge(`has more than ${formatCount(MAX_ENTRIES)} files`);
  const result: ChosenFiles = { name: '', files: [], chars: 0, skipped: [] };
  for (const file of chosen) {
    const path = getPath(file);
    const content = path.split('/').some((segment) => segment.startsWith('.')) ? undefined : await readText(file, path);
    if (content === undefined) {
      result.skipped.push(path);
      continue;
    }
    result.files.push({ path, content });
    result.chars += content.length;
    if (result.files.length > MAX_FILES) throw tooLarge(`has more than ${MAX_FILES} text files`);
    if (result.chars > MAX_CHARS) throw tooLarge(`has more than ${formatCount(MAX_CHARS)} characters`);
    if (path === 'SKILL.md') result.name = readName(content);
  }
  return result;
}

/** Paths in a chosen folder begin with its name. Browsers that cannot choose a folder give names alone. */
function getPath({ name, webkitRelativePath }: ChosenFile): string {
  return webkitRelativePath === '' ? name : webkitRelativePath.slice(webkitRelativePath.indexOf('/') + 1);
}

async function readText(file: ChosenFile, path: string): Promise<string | undefined> {
  if (file.size > MAX_FILE_BYTES) {
    if (new Uint8Array(await file.slice(0, SAMPLE_BYTES).arrayBuffer()).includes(0)) return undefined;
    throw tooLarge(`has the file ${path} with more than ${formatCount(MAX_CHARS)} characters`);
  }
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function tooLarge(found: string): Error {
  return new Error(`The folder ${found}. A skill has at most ${MAX_FILES} text files with ${formatCount(MAX_CHARS)} characters.`);
}
