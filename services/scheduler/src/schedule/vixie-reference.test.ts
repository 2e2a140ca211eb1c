import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findNextFire } from './schedule.ts';
import { createExpression, listVixieFires } from './vixie-reference.fixture.ts';

const EXPRESSIONS = 500;
const FIRES = 12;
/** Long enough for the 29th of February. */
const DAYS = 366 * 9;
const FROM = Date.parse('2026-02-10T11:22:33Z');

function listFires(expr: string): number[] {
  const fires: number[] = [];
  for (let next = findNextFire({ kind: 'cron', expr, tz: 'UTC' }, FROM); next !== null && fires.length < FIRES;) {
    fires.push(next);
    next = findNextFire({ kind: 'cron', expr, tz: 'UTC' }, next);
  }
  return fires;
}

test(`${EXPRESSIONS} expressions fire as in Vixie cron`, () => {
  let compared = 0;
  for (let seed = 1; seed <= EXPRESSIONS; seed += 1) {
    const expr = createExpression(seed);
    const expected = listVixieFires(expr, FROM, FIRES, DAYS);
    // A rare expression has fires beyond the days of the reference.
    assert.deepEqual(listFires(expr).slice(0, expected.length), expected, expr);
    compared += expected.length;
  }
  assert.ok(compared > EXPRESSIONS * FIRES * 0.8, `only ${compared} fires were compared`);
});
