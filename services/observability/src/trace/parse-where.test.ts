import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseWhere } from './parse-where.ts';

test('parses error and lists of conditions', () => {
  assert.deepEqual(parseWhere('error'), { lastError: { exists: true } });
  assert.deepEqual(parseWhere('agent=a, model = openai/m, cost>0.1,cost<=2'), {
    agentId: { in: ['a'] },
    model: { in: ['openai/m'] },
    costUsd: { gt: 0.1, lte: 2 },
  });
  assert.deepEqual(parseWhere('error, state!=failed'), { lastError: { exists: true }, state: { ne: 'failed' } });
});

const faults: [where: string, position: number, expected: RegExp][] = [
  ['', 1, /error or a condition/],
  ['agent=a, ', 10, /error or a condition/],
  ['agent=a, weight>3', 10, /one of agent, model/],
  ['agent>a', 6, /= or !=/],
  ['agent=', 7, /1 to 256/],
  ['cost>much', 6, /a number/],
  ['cost>0.1, tokens=', 18, /a number/],
  ['__proto__=1', 1, /error or a condition/],
  ['constructor=1', 1, /one of agent/],
];

for (const [where, position, expected] of faults)
  test(`rejects "${where}" with position ${position}`, () => {
    assert.throws(
      () => parseWhere(where),
      (error: { code: string; message: string }) => {
        assert.equal(error.code, 'INVALID_ARGUMENT');
        assert.match(error.message, new RegExp(`where: at character ${position}: `));
        assert.match(error.message, expected);
        return true;
      },
    );
  });

test('accepts a value with the punctuation of a query language as a value', () => {
  assert.deepEqual(parseWhere('agent=a; drop table'), { agentId: { in: ['a; drop table'] } });
});
