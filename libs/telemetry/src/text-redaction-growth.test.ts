import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redact } from './object-redaction.ts';
import { scrub } from './text-redaction.ts';

/** Complete and partial beginnings of secret formats. */
const HEADS = [
  [
    '',
    'Bearer ',
    'Basic ',
    'Token ',
    'token=',
    '?key=',
    'password" : ',
    'apiKey\\"',
    '://',
    '://u:',
    '://u:p',
    'sy_pat_',
    'sk-',
    '--token ',
    '--api-key=',
    '/services/T1/B2/',
  ],
  ['sk_live_', 'ghp_', 'github_pat_', 'xoxb-', 'AKIA', 'AIza', 'SG.', `SG.${'a'.repeat(16)}.`, 'eyJ', `eyJ${'a'.repeat(8)}.`],
  ['12345678:', '-----BEGIN ', '-----BEGIN PRIVATE KEY-----', '-----END '],
].flat();
/** Units that are repeated after them. */
const FILLS = ['a', 'A', '1', ' ', '\n', '-', '.', ':', '/', '"', '\\', '=', 'a ', 'a-', 'x,'];
const TAILS = ['', '!', '@'];

const SHORT = 1_000;
const LONG = 8 * SHORT;
/** Linear growth is 8, quadratic growth is 64. */
const MOST = 24;

/** A text of `head` followed by repeated `unit`. */
interface Attack {
  head: string;
  unit: string;
  tail: string;
}

test('redaction time grows linearly with the length of a text', () => {
  const attacks = HEADS.flatMap((head) => FILLS.flatMap((fill) => attacksWith(head, fill)));
  assert.ok(attacks.length > 3_000);
  for (const attack of attacks) {
    scrub(getText(attack, SHORT));
    // Slow cases are measured again, because the machine may have been busy.
    let growth = getGrowth(attack, 1);
    for (let tries = 0; growth > MOST && tries < 5; tries++) growth = Math.min(growth, getGrowth(attack, 10));
    assert.ok(growth <= MOST, `${JSON.stringify(attack)}: eight times the length takes ${Math.round(growth)} times as long`);
  }
});

function attacksWith(head: string, fill: string): Attack[] {
  const units = head === '' ? [] : [head + fill, head + fill.repeat(8)];
  return [
    ...TAILS.map((tail) => ({ head, unit: fill, tail })),
    ...units.flatMap((unit) => ['', '@'].map((tail) => ({ head: '', unit, tail }))),
    ...(head === '' ? [] : HEADS.slice(1, 4).map((other) => ({ head: other, unit: fill + head, tail: '!' }))),
  ];
}

function getText({ head, unit, tail }: Attack, length: number): string {
  return (head + unit.repeat(Math.ceil(length / unit.length))).slice(0, length - tail.length) + tail;
}

/** Short texts are scrubbed as often as takes the time of a long one, so that a busy machine disturbs both measurements alike. */
function getGrowth(attack: Attack, runs: number): number {
  const [short, long] = [getText(attack, SHORT), getText(attack, LONG)];
  const repeats = LONG / SHORT;
  let [shortMs, longMs] = [Infinity, Infinity];
  for (let run = 0; run < runs; run++) {
    shortMs = Math.min(shortMs, measure(short, repeats) / repeats);
    longMs = Math.min(longMs, measure(long, 1));
  }
  return longMs / shortMs;
}

function measure(text: string, repeats: number): number {
  const startedAt = performance.now();
  for (let count = 0; count < repeats; count++) scrub(text);
  return performance.now() - startedAt;
}

test('limits the size of a line with shared parts and long names', () => {
  const text = 'x '.repeat(2_000);
  const wide = (of: unknown): unknown[] => Array.from({ length: 100 }, () => of);
  const fields = { [`${'k'.repeat(1_000_000)}Token`]: 'hidden' };
  const shared = redact({ fields, list: wide(wide(wide(text))) });
  assert.deepEqual(Object.values(shared['fields'] as object), ['[REDACTED]']);
  assert.ok(JSON.stringify(shared).length < 100_000);
  const { list } = shared as { list: string[][][] };
  assert.equal(list[0]?.[0]?.[0], text);
  assert.equal(list.at(-1), '…');
});
