import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { startTestTurns } from '../turns/turns.fixture.ts';
import { parsePayload } from './payload.ts';

const URL_ENCODED = 'application/x-www-form-urlencoded';
const MULTIPART = 'multipart/form-data; boundary=----edge';

function createMultipart(...parts: readonly string[]): string {
  return `${parts.map((part) => `------edge\r\nContent-Disposition: form-data; ${part}\r\n`).join('')}------edge--\r\n`;
}

test('reads the bodies that large senders offer', async () => {
  const event = { action: 'opened', list: [1] };
  const json = JSON.stringify(event);
  const cases: readonly (readonly [contentType: string | undefined, body: string, payload: unknown])[] = [
    ['application/json', json, event],
    ['application/json; charset=utf-8', json, event],
    ['application/vnd.github+json', json, event],
    ['text/plain; charset=UTF-8', json, event], // Amazon SNS
    [undefined, json, event],
    [URL_ENCODED, json, event], // curl without a content type
    [URL_ENCODED, `payload=${encodeURIComponent(json)}`, event], // GitHub, Slack
    [
      `${URL_ENCODED}; charset=utf-8`,
      'From=%2B4712345678&Body=Hello+there&Media=1&Media=2',
      { From: '+4712345678', Body: 'Hello there', Media: ['1', '2'] },
    ], // Twilio
    ['APPLICATION/X-WWW-FORM-URLENCODED', '__proto__=x&constructor=y', JSON.parse('{"__proto__":"x","constructor":"y"}')],
    [MULTIPART, createMultipart('name="subject"\r\n\r\nHi', 'name="to"\r\n\r\na@b.example'), { subject: 'Hi', to: 'a@b.example' }], // SendGrid
    [
      MULTIPART,
      createMultipart('name="file"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\nhello'),
      { file: { name: 'a.txt', type: 'text/plain', size: 5 } },
    ],
  ];
  for (const [contentType, body, payload] of cases)
    assert.deepEqual(await parsePayload(Buffer.from(body), contentType), payload, `${contentType}: ${body}`);
});

test('a body that cannot be parsed is 400, whatever its content type', async () => {
  const token = 'a token of webhooks with 40 characters..';
  await using t = await startTestTurns(() => undefined, { webhooks: { enabled: true, token, mappings: [{ id: 'any' }] } });
  const types = [
    'application/json',
    'json',
    ';',
    '/x',
    'a b/c',
    'text/plain',
    URL_ENCODED,
    MULTIPART,
    'multipart/form-data',
    'application/xml',
    'application/json; charset',
  ];
  const bodies = ['', '{', '[1,', 'plain words', '{"a":', 'a%3Db', 'a=%', 'payload=%7B', '------edge\r\n\r\n', '<xml/>'];
  for (const contentType of types) {
    for (const body of bodies) {
      const signature = createHmac('sha256', token).update(body).digest('hex');
      const response = await t.gateway.post('/hooks/any', body, {
        headers: { 'content-type': contentType, 'x-webhook-signature': signature },
      });
      assert.deepEqual(
        [contentType, body, response.status, await response.json()],
        [contentType, body, 400, { error: 'Invalid JSON body' }],
      );
    }
  }
  assert.equal(t.started.length, 0);
});

test('a delivery whose content type is not a media type is read', async () => {
  const token = 'a token of webhooks with 40 characters..';
  await using t = await startTestTurns(() => undefined, { webhooks: { enabled: true, token, mappings: [{ id: 'any' }] } });
  const headers = { 'content-type': 'json', 'x-webhook-signature': createHmac('sha256', token).update('{}').digest('hex') };
  assert.equal((await t.gateway.post('/hooks/any', '{}', { headers })).status, 200);
});
