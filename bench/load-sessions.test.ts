import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SESSION, TURNS_PER_SESSION } from './load-plan.ts';
import { createSessionRequests } from './load-sessions.ts';

/** Number of requests per session, in the order of their start. */
function countRequests(connection: number, requests: number): Map<string, number> {
  const next = createSessionRequests([`/of/${SESSION}`, SESSION], connection, (texts) => texts.join(' '));
  const lengths = new Map<string, number>();
  for (let at = 0; at < requests; at++) {
    const request = next();
    lengths.set(request, (lengths.get(request) ?? 0) + 1);
  }
  return lengths;
}

test('a connection starts a new session after twenty requests, at a different time than the others', () => {
  assert.deepEqual([...countRequests(0, 50).values()], [TURNS_PER_SESSION, TURNS_PER_SESSION, 10]);
  assert.deepEqual([...countRequests(7, 50).values()], [13, 20, 17]);
  assert.deepEqual([...countRequests(19, 22).values()], [1, 20, 1]);
});

test('the path and the body contain the same session id, and no measurement reuses a session', () => {
  const [first, second] = [countRequests(3, 40), countRequests(3, 40)];
  for (const request of first.keys()) {
    const [path = '', body = ''] = request.split(' ');
    assert.equal(path, `/of/${body}`);
    assert.ok(!second.has(request));
  }
});

test('texts without the placeholder give the same request each time', () => {
  const next = createSessionRequests(['/', '{}'], 1, () => Buffer.from('{}'));
  assert.equal(next(), next());
});
