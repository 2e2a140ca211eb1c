import assert from 'node:assert/strict';
import { test } from 'node:test';
import { guards, without, type Guard } from './guards.fixture.ts';
import { playSeed } from './seeds.fixture.ts';

const MOST = 20_000;

/** Returns the first seed whose scenario fails without the guard. */
async function found(guard: Guard, from: number): Promise<number | undefined> {
  for (let at = 0; at < MOST; at += 1) {
    const seed = ((from - 1 + at) % MOST) + 1;
    const failed = await playSeed(seed, { sabotage: without(guard), waits: guard.waits }).then(
      () => false,
      () => true,
    );
    if (failed) return seed;
  }
  return undefined;
}

for (const guard of guards) {
  const { seed, write, says } = guard;
  if (seed === undefined) continue;
  test(`a scenario fails without the guard of ${write}: ${says}`, { timeout: 600_000 }, async (t) => {
    const shown = await found(guard, seed);
    assert.ok(shown !== undefined, `no story within ${MOST} seeds`);
    if (shown !== seed) t.diagnostic(`begin at ${shown}`);
    await playSeed(shown, { waits: guard.waits });
  });
}

test('a guard without a failing scenario names the guard that covers it', () => {
  for (const { seed, covered, write } of guards) assert.ok(seed !== undefined || covered !== undefined, write);
});
