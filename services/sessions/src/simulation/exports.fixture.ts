import assert from 'node:assert/strict';
import { readHistory } from '../sessions/session-directory.ts';
import { listMessages } from '../model/turn-messages.ts';
import { principal, type Replica, type World } from './scenario.fixture.ts';

/**
 * Checks the result of `session.export`: all counted messages from the first turn on, in order, once each, and no fewer than had been
 * counted before. Conversations that were reset meanwhile are not checked.
 */
export async function getExport({ reading }: Replica, world: World, key: string): Promise<boolean> {
  const before = await reading.sessions.for(principal).get(key);
  if (!before) return false;
  const reply = await readHistory(reading, principal, before);
  const now = world.sessions.documents.get(`default ${key}`);
  if (now?.epoch !== before.epoch) return false;
  const turns = [...world.turns.documents.values()]
    .filter(({ epoch, seq }) => epoch === before.epoch && seq !== undefined)
    .toSorted((one, other) => (one.seq ?? 0) - (other.seq ?? 0));
  const counted = (to: number) => turns.filter(({ seq = 0 }) => seq <= to).flatMap(listMessages);
  const [least, most] = [counted(before.lastSeq), counted(now.lastSeq)];
  assert.ok(reply.length >= least.length, `an export of ${key} has ${reply.length} messages of ${least.length}`);
  assert.deepEqual(
    reply.map(({ role, content }) => [role, content]),
    most.slice(0, reply.length).map((one) => [one.role, one.content.text]),
    `what an export of ${key} says`,
  );
  return reply.length > 0;
}
