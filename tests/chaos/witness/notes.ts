import { existsSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { clockMs } from '../history.ts';
import { witnessDirectory } from './sabotage.ts';

/** The record that a process writes at a point immediately before it dies. */
export const DIES = 'dies';

/** A finished write or call of a sessions process, with the name of the process. */
export interface Note {
  replica: string;
  pid: number;
  from: number;
  to: number;
  /** The name of a write, or a tool call. */
  what: string;
  /** For a write: the turn or session as written, and its lease. */
  id: string;
  fence?: number;
  state?: string;
  /** For a completed turn: its sequence number. */
  counted?: number;
  /** For a call: its input. */
  input?: unknown;
  /** For a call: the key that repetitions share. */
  key?: string;
}

const replica = process.env['SWITCHYARD_REPLICA'] ?? '';
const { pid } = process;
let fd: number | undefined;

/** Writes synchronously, because the process may die immediately afterwards. */
export function note(message: Omit<Note, 'replica' | 'pid'>): void {
  fd ??= openSync(join(witnessDirectory(), `${replica}-${pid}.jsonl`), 'a', 0o600);
  writeSync(fd, `${JSON.stringify({ replica, pid, ...message })}\n`);
}

const order = join(witnessDirectory(), `${replica}.point`);

/** Ends the process here if it was ordered to. */
function reach(point: string): void {
  if (!existsSync(order) || readFileSync(order, 'utf8') !== point) return;
  const now = clockMs();
  note({ what: DIES, id: point, from: now, to: now });
  unlinkSync(order);
  process.kill(pid, 'SIGKILL');
}

/** Runs an operation between its two points. */
export async function witnessed<T>(place: string | undefined, work: () => Promise<T>, notify: (done: T) => Told | undefined): Promise<T> {
  if (place !== undefined) reach(`before ${place}`);
  const from = clockMs();
  const done = await work();
  const told = notify(done);
  if (told) note({ from, to: clockMs(), ...told });
  if (place !== undefined) reach(`after ${place}`);
  return done;
}

type Told = Pick<Note, 'what' | 'id'> & Partial<Note>;
