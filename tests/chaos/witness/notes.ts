import { existsSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { clockMs } from '../history.ts';
import { witnessDirectory } from './sabotage.ts';

/** What is noted, under the name of the point, by a process that is dead the next moment. */
export const DIES = 'dies';

/** Something that a process of sessions did and whose end it lived to see; and its own. */
export interface Note {
  replica: string;
  pid: number;
  from: number;
  to: number;
  /** A write by its name in the protocol, or a call of a tool. */
  what: string;
  /** Of a write, the document as it was then: the turn or the session, and the lease it was written under. */
  id: string;
  fence?: number;
  state?: string;
  /** Of a settling: the number that was counted. */
  counted?: number;
  /** Of a call: what it was called with. */
  input?: unknown;
  /** And the key that it has whenever it is repeated. */
  key?: string;
}

const replica = process.env['SWITCHYARD_REPLICA'] ?? '';
const { pid } = process;
let fd: number | undefined;

/** Written at once: the process may be dead the next moment. */
export function note(said: Omit<Note, 'replica' | 'pid'>): void {
  fd ??= openSync(join(witnessDirectory(), `${replica}-${pid}.jsonl`), 'a', 0o600);
  writeSync(fd, `${JSON.stringify({ replica, pid, ...said })}\n`);
}

const order = join(witnessDirectory(), `${replica}.point`);

/** Dies here, if somebody wants that. */
function reach(point: string): void {
  if (!existsSync(order) || readFileSync(order, 'utf8') !== point) return;
  const now = clockMs();
  note({ what: DIES, id: point, from: now, to: now });
  unlinkSync(order);
  process.kill(pid, 'SIGKILL');
}

/** Does something between its two points. */
export async function witnessed<T>(place: string | undefined, work: () => Promise<T>, tell: (done: T) => Told | undefined): Promise<T> {
  if (place !== undefined) reach(`before ${place}`);
  const from = clockMs();
  const done = await work();
  const told = tell(done);
  if (told) note({ from, to: clockMs(), ...told });
  if (place !== undefined) reach(`after ${place}`);
  return done;
}

type Told = Pick<Note, 'what' | 'id'> & Partial<Note>;
