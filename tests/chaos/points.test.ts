import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operations, type Entry } from './history.ts';
import type { Point } from './plan.ts';
import { getPoints, unreached } from './points.ts';
import { DIES, type Note } from './witness/notes.ts';

/** Points of the orders to die, and points at which processes died. */
function run(told: readonly Point[], died: readonly Point[]) {
  const history = told.flatMap((point, op): Entry[] => [
    { at: op, op, type: 'invoke', client: 'chaos', f: 'fault', request: { kind: 'point', who: 'sessions-1', point } },
    { at: op, op, type: 'ok', response: { did: `sessions-1 ${point}` } },
  ]);
  const notes = died.map((id): Note => ({ replica: 'sessions-1', pid: 1, from: 0, to: 0, what: DIES, id }));
  return { all: operations(history), notes };
}

test('reports a point at which no process died, whatever was ordered', () => {
  const told: Point[] = ['before take', 'after text', 'before take'];
  assert.deepEqual(unreached(run(told, told)), []);
  assert.deepEqual(unreached(run(told, ['before take', 'after text'])), ['before take: 1 of 2 died there']);
  assert.deepEqual(unreached(run(told, ['after text', 'after take'])), ['before take: 0 of 2 died there']);
  assert.deepEqual(getPoints(run(told, told)), { 'after text': { told: 1, died: 1 }, 'before take': { told: 2, died: 2 } });
});

test('a record at a point does not count as a death', () => {
  const { all, notes } = run(['before commit'], []);
  const wrote: Note = { replica: 'sessions-1', pid: 1, from: 0, to: 0, what: 'commit', id: 'before commit' };
  assert.deepEqual(unreached({ all, notes: [...notes, wrote] }), ['before commit: 0 of 1 died there']);
});
