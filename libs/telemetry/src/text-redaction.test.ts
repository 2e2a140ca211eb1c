import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scrub } from './text-redaction.ts';

/** Joined at run time, so that secret scanners do not report the examples. */
const join = (...parts: string[]): string => parts.join('');
/** No hexadecimal digits, so that only the specific format matches. */
const body = 'Zx3'.repeat(15);

const SECRETS = [
  join('Bearer ', body),
  join('Basic ', 'dXNlcjpwYXNz'),
  join('sy_', 'pat_0123456789_', body, '1234'),
  join('sk-', 'proj-', body),
  join('sk-', 'ant-', body),
  join('sk_', 'live_', body),
  join('ghp', '_', body),
  join('xoxb', '-12345678-', body),
  join('AKIA', 'ABCDEFGHIJKLMNOP'),
  join('AIza', body),
  join('SG', '.', body, '.', body),
  join('eyJ', body, '.', body, '.', body),
  join('12345678', ':', 'A'.repeat(35)),
  'a1'.repeat(20),
  join('-----BEGIN RSA PRIVATE', ' KEY-----\nabc\n-----END RSA PRIVATE', ' KEY-----'),
];

test('removes all known secret formats from a text', () => {
  for (const secret of SECRETS) {
    const text = scrub(`before ${secret} after`);
    assert.match(text, /^before .*\[REDACTED\] after$/, secret);
    assert.ok(!text.includes(secret.slice(-12)), text);
  }
});

test('removes only the secret part of links, queries and JSON', () => {
  assert.equal(scrub('GET /ws?token=abc&v=1'), 'GET /ws?token=[REDACTED]&v=1');
  assert.equal(scrub('nats://user:hunter2@host:4222/x'), 'nats://user:[REDACTED]@host:4222/x');
  assert.equal(scrub(`https://${body}@git.example/x`), 'https://[REDACTED]@git.example/x');
  assert.equal(scrub('GET /callback?code=abc&state=1#access_token=x'), 'GET /callback?code=[REDACTED]&state=1#access_token=[REDACTED]');
  assert.equal(scrub(`https://hooks.example/services/T01/B02/${body}`), 'https://hooks.example/services/T01/B02/[REDACTED]');
  assert.equal(scrub(`https://chat.example/api/webhooks/123/${body}`), 'https://chat.example/api/webhooks/123/[REDACTED]');
  assert.equal(scrub('{"apiKey":"abc","model":"m"}'), '{"apiKey":"[REDACTED]","model":"m"}');
});

test('removes secrets from the arguments of commands', () => {
  assert.equal(scrub('tool --api-key abc --verbose'), 'tool --api-key [REDACTED] --verbose');
  assert.equal(scrub('tool --db-password=abc -x'), 'tool --db-password=[REDACTED] -x');
  assert.equal(scrub('switchyard --token --json'), 'switchyard --token --json');
});

test('does not change ordinary text', () => {
  for (const text of [
    'Invalid params: message: expected string, got number',
    'Basic authentication is off; token expired at noon',
    'turn_0AbCdEfGhIjKlMnOpQrStU done in 12 ms',
    '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    'http://127.0.0.1:4766/app/ and file:///a/b',
    'sk-1',
  ])
    assert.equal(scrub(text), text);
});

test('masks a secret at the cut position of a long text', () => {
  const text = scrub(`${'x '.repeat(4_090)}Bearer ${body.repeat(10)}`);
  assert.ok(text.includes('Bearer [REDACTED]'), text.slice(-80));
  assert.ok(!text.includes('Zx3'));
});
