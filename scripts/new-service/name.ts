import { existsSync } from 'node:fs';
import { compileFunction } from 'node:vm';
import * as front from '@switchyard/contracts';

const WORDS = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
const LONGEST = 32;

/** Identifiers that the generated files use for something else. */
const WORDS_OF_FILES = new Set(
  ['add', 'again', 'app', 'assert', 'catalogue', 'collection', 'contract', 'data', 'elsewhere', 'entries', 'made', 'principal'].concat([
    'service',
    'services',
    'store',
    'test',
    'z',
  ]),
);

/** The spellings of a service name: `release-notes` in paths and subjects, `releaseNotes` in code and method names. */
export interface ServiceNames {
  name: string;
  code: string;
  /** The name in types and schemas. */
  type: string;
  /** Whether the contract already exists. */
  declared: boolean;
}

/** Returns the spellings of a name, or the reason why the name cannot be used. */
export function readName(name: string, root: string): ServiceNames | { refused: string } {
  if (name === '') return { refused: 'Say what it is called: make service NAME=notes' };
  if (!WORDS.test(name) || name.length > LONGEST) {
    return { refused: `"${name}" cannot be its name: expected at most ${LONGEST} lower-case letters and digits, as in release-notes.` };
  }
  for (const folder of ['services', 'libs']) {
    if (existsSync(`${root}${folder}/${name}`)) return { refused: `${folder}/${name} is there already; choose another name.` };
  }
  const declared = (front.SERVICES as readonly string[]).includes(name);
  const code = name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
  const refused = declared ? undefined : taken(code);
  return refused === undefined ? { name, code, type: code.charAt(0).toUpperCase() + code.slice(1), declared } : { refused };
}

function taken(code: string): string | undefined {
  const owner = [...front.callables.values()].find(({ name }) => name.startsWith(`${code}.`))?.service;
  if (owner !== undefined) return `Methods named ${code}.* belong to ${owner}; choose another name.`;
  if (front.DISCOVER.startsWith(`${code}.`)) return `${front.DISCOVER} is answered at the edge; choose another name.`;
  if (code in front || WORDS_OF_FILES.has(code) || !isIdentifier(code)) {
    return `"${code}" means something else in code; choose another name.`;
  }
  return undefined;
}

function isIdentifier(word: string): boolean {
  try {
    compileFunction(`'use strict'; let ${word}; async () => { let ${word}; };`);
    return true;
  } catch {
    return false;
  }
}
