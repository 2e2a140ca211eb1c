import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { lockDirectory } from '@switchyard/store';
import { keepFile } from './private-file.ts';
import { StartError } from '../variables/start-error.ts';

/** The configured database file of a service. */
export interface StoreFile {
  setting: string;
  /** Relative to the data directory, or absolute. */
  path: string;
}

interface Wish {
  service: string;
  /** Undefined for the default file. */
  file: StoreFile | undefined;
  /** The directory of the store. */
  dir: string;
  /** The data directory, which this process has locked. */
  data: string;
}

/**
 * Resolves the database file and records its path in a marker file. Throws if the setting changed and the operator did not move the
 * file, because the service would start without documents. Locks a directory outside the data directory against other processes.
 */
export function placeStoreFile({ service, file, dir, data }: Wish): { file: string } & Disposable {
  const usual = join(resolve(dir), `${service}.db`);
  const requested = file === undefined ? usual : resolve(data, file.path);
  const note = join(dir, `${service}.at`);
  const last = readNote(note) ?? usual;
  if (requested !== last && existsSync(last) && !existsSync(requested))
    throw leftBehind(file?.setting ?? note, { last, wanted: requested });
  const held = file === undefined || isWithin(requested, data) ? undefined : lockDirectory(dirname(requested));
  if (requested !== usual) writeNote(note, requested);
  else if (existsSync(note)) rmSync(note);
  return { file: requested, [Symbol.dispose]: () => held?.[Symbol.dispose]() };
}

function isWithin(file: string, dir: string): boolean {
  const way = relative(resolve(dir), file);
  return !way.startsWith('..') && !isAbsolute(way);
}

function readNote(note: string): string | undefined {
  return existsSync(note) ? readFileSync(note, 'utf8').trim() : undefined;
}

function writeNote(note: string, file: string): void {
  mkdirSync(dirname(note), { recursive: true, mode: 0o700 });
  keepFile(note, `${file}\n`);
}

function leftBehind(from: string, { last, wanted }: { last: string; wanted: string }): StartError {
  return new StartError(
    `${from} sets the store to ${wanted}, which does not exist, but the documents are in ${last}. Move them together with ${last}-wal and ${last}-shm: mv ${last}* ${dirname(wanted)}/`,
  );
}
