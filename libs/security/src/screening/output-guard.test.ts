import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createOutputGuard } from './output-guard.ts';
import { SECRET_PATTERNS } from './secret-patterns.ts';

const X = 'aB3xK9mQ2rT7vW1z';
const LONG = X.repeat(4);

/** One invented secret of each kind. */
const SECRETS: Readonly<Record<string, string>> = {
  aws_access_key: 'AKIAIOSFODNN7EXAMPLE',
  anthropic_key: `sk-ant-api03-${LONG}`,
  openai_key: `sk-proj-${LONG}`,
  github_token: `ghp_${LONG}`,
  gitlab_token: `glpat-${LONG}`,
  slack_token: `xoxb-${LONG}`,
  stripe_key: `sk_live_${LONG}`,
  google_api_key: `AIza${LONG}`,
  sendgrid_key: `SG.${X}.${LONG}`,
  npm_token: `npm_${LONG}`,
  switchyard_token: `sy_pat_${LONG}`,
  telegram_bot_token: `123456789:AA${LONG}`,
  private_key: `-----BEGIN RSA PRIVATE KEY-----\n${LONG}\n${LONG}\n`,
  canary: 'CTKN_0123456789abcdef',
};

function guarded(pieces: readonly string[]) {
  const guard = createOutputGuard();
  const content = pieces.map((piece) => guard.push(piece));
  return { text: content.join('') + guard.end(), content, found: guard.found };
}

test('redacts thirteen kinds of secrets and canaries by name', () => {
  assert.deepEqual(Object.keys(SECRETS).toSorted(), SECRET_PATTERNS.map(({ name }) => name).toSorted());
  assert.equal(SECRET_PATTERNS.length, 14);
  for (const [name, secret] of Object.entries(SECRETS)) {
    for (const [before, after] of [
      ['', ''],
      ['It is ', '. Keep it.'],
      ['{"a":"\\n', '"}'],
    ]) {
      const { text, found } = guarded([`${before}${secret}${after}`]);
      assert.equal(text, `${before}[REDACTED:${name}]${after}`, name);
      assert.deepEqual(found, [name]);
    }
  }
});

test('redacts a secret wherever the stream splits it', () => {
  for (const [name, secret] of Object.entries(SECRETS)) {
    const fullText = `The key: ${secret}, and "more".`;
    for (let cut = 1; cut < fullText.length; cut += 1) {
      assert.equal(
        guarded([fullText.slice(0, cut), fullText.slice(cut)]).text,
        `The key: [REDACTED:${name}], and "more".`,
        `${name} at ${cut}`,
      );
    }
    assert.equal(guarded(fullText.split('')).text, `The key: [REDACTED:${name}], and "more".`, `${name}, letter by letter`);
  }
});

test('the output does not depend on how the text is split', () => {
  const parts = [
    ...Object.values(SECRETS),
    'task-oriented-programming-languages',
    'a word ',
    '12:30 ',
    '--- ',
    'sk',
    's',
    '\n',
    '\\n',
    'AKI',
    '🎈',
  ];
  const texts = fc.array(fc.constantFrom(...parts), { maxLength: 8 });
  const cuts = fc.array(fc.nat({ max: 60 }), { maxLength: 12 });
  fc.assert(
    fc.property(texts, cuts, (content, lengths) => {
      const whole = content.join('');
      const pieces: string[] = [];
      let at = 0;
      for (const length of lengths) pieces.push(whole.slice(at, (at += length)));
      assert.equal(guarded([...pieces, whole.slice(at)]).text, guarded([whole]).text);
    }),
    { numRuns: Number(process.env['GUARD_CASES'] ?? 300) },
  );
});

test('passes words that only resemble secrets without delay', () => {
  const words = [
    'risk-',
    'averse ',
    'task-oriented-programming-languages ',
    'Ask ',
    'sky ',
    'xo ',
    'AKIA ',
    'CTKN_ ',
    'the - dash ',
    '-----BEGIN ',
  ];
  const { text, found } = guarded(words);
  assert.equal(text, words.join(''));
  assert.deepEqual(found, []);
  assert.deepEqual(guarded(['Hello', ' there', ', how', ' are you', '?']).content, ['Hello', ' there', ', how', ' are you', '?']);
});

const ROUNDS = 10;
/** Tolerance for noise in CPU milliseconds. Quadratic time would need seconds. */
const NOISE_MS = 100;

test('needs linear time and memory, also for adversarial texts', () => {
  const hostile = ['sk-', '-----BEGIN ', 'ghp_ ', '1234567:A', 'AKIA', '-', 'sk-a.', '\\n', 'x'];
  for (const unit of hostile) {
    const took = (chars: number): number => {
      const text = unit.repeat(chars / unit.length);
      const before = process.threadCpuUsage();
      guarded([text]);
      guarded(text.match(/[^]{1,50}/g) ?? []);
      const { user, system } = process.threadCpuUsage(before);
      return (user + system) / 1_000;
    };
    took(20_000);
    // CPU time, and the minimum of several runs, because other load and garbage collection only add time.
    let [little, much] = [Infinity, Infinity];
    for (let round = 0; round < ROUNDS && !(much < 8 * 3 * little + NOISE_MS); round += 1)
      [little, much] = [Math.min(little, took(50_000)), Math.min(much, took(400_000))];
    assert.ok(much < 8 * 3 * little + NOISE_MS, `${unit}: ${little} ms for 50,000 characters, ${much} ms for 400,000`);
  }
});
