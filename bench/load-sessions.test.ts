import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SESSION, TURNS_IN_A_SESSION } from './load-plan.ts';
import { inSessions } from './load-sessions.ts';

/** How often each session was asked in, in the order they began. */
function lengthsOf(connection: number, asked: number): Map<string, number> {
  const next = inSessions([`/of/${SESSION}`, SESSION], connection, (texts) => texts.join(' '));
  const lengths = new Map<string, number>();
  for (let at = 0; at < asked; at++) {
    const said = next();
    lengths.set(said, (lengths.get(said) ?? 0) + 1);
  }
  return lengths;
}

test('after twenty requests a connection begins a new session, and connections do so at different times', () => {
  assert.deepEqual([...lengthsOf(0, 50).values()], [TURNS_IN_A_SESSION, TURNS_IN_A_SESSION, 10]);
  assert.deepEqual([...lengthsOf(7, 50).values()], [13, 20, 17]);
  assert.deepEqual([...lengthsOf(19, 22).values()], [1, 20, 1]);
});

test('the path and the body name the same session, and no measurement goes on with one of another', () => {
  const [first, second] = [lengthsOf(3, 40), lengthsOf(3, 40)];
  for (const said of first.keys()) {
    const [path = '', body = ''] = said.split(' ');
    assert.equal(path, `/of/${body}`);
    assert.ok(!second.has(said));
  }
});

test('where no session is named the same bytes are sent again', () => {
  const next = inSessions(['/', '{}'], 1, () => Buffer.from('{}'));
  assert.equal(next(), next());
});
