import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { UNREAD_SETTINGS } from '@switchyard/contracts';
import { findUnread } from './find-unread.ts';
import { READERS } from './setting-readers.ts';

// The list of settings that nothing reads yet. A test compares it with the code; this writes it.
const root = fileURLToPath(new URL('../..', import.meta.url));
const file = `${root}libs/contracts/src/config/unread-settings.ts`;

const { unread } = findUnread(root, READERS);
const changes = [
  ...UNREAD_SETTINGS.filter((path) => !unread.includes(path)).map(
    (path) => `${path} is off the list: it is read, it is gone, or what it holds is listed by itself`,
  ),
  ...unread.filter((path) => !UNREAD_SETTINGS.includes(path)).map((path) => `${path} is on the list: nothing reads it`),
];
if (changes.length > 0) {
  writeFileSync(file, burnDown(unread));
  execFileSync(`${root}node_modules/.bin/oxfmt`, [file]);
  for (const change of changes) console.log(change);
}

function burnDown(paths: readonly string[]): string {
  return `/**
 * Settings that are declared and accepted, and that nothing reads yet; what stands below them is meant too. \`*\` stands for an id, or
 * for each entry of a list. Whoever sets one is told. Written by \`make lock\` from the code of services and libraries; a test compares.
 */
export const UNREAD_SETTINGS: readonly string[] = ${JSON.stringify(paths)};
`;
}
