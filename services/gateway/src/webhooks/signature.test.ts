import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { sign } from '@octokit/webhooks-methods';
import { Webhook } from 'standardwebhooks';
import { verify, type Check } from './signature.ts';

const KEY = 'It is a secret to everybody, and long enough';
const NOW = 1_763_719_200_000;
const NOW_SEC = NOW / 1_000;
const body = Buffer.from('{"action":"opened","text":"h\u00e9llo"}');

const check: Check = {
  scheme: 'hmac',
  key: KEY,
  headers: ['x-webhook-signature'],
  headerPrefix: 'webhook-',
  algorithm: 'sha256',
  timestampHeader: 'x-webhook-timestamp',
  maxAgeSec: 300,
  requireTimestamp: false,
  signedTimestamp: false,
};
const hex = (algorithm: string, key: string | Buffer, text: Buffer | string): string =>
  createHmac(algorithm, key).update(text).digest('hex');
const signature = hex('sha256', KEY, body);

function verifyBody(headers: Record<string, string>, changes: Partial<Check> = {}, key = KEY, receivedBody = body) {
  return verify({ ...check, ...changes }, key, { headers, body: receivedBody, now: NOW });
}

const MISSING = { problem: 'Missing webhook signature' };
const INVALID = { problem: 'Invalid webhook signature' };
const EXPIRED = { problem: 'Webhook timestamp expired or invalid' };
const NO_TIMESTAMP = { problem: 'Missing required webhook timestamp' };

test('verifies the vectors of RFC 4231', () => {
  const vectors = [
    {
      key: 'Jefe',
      data: 'what do ya want for nothing?',
      sha256: '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
      sha384: 'af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649',
      sha512:
        '164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737',
    },
    {
      key: '\u000b'.repeat(20),
      data: 'Hi There',
      sha256: 'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7',
      sha384: 'afd03944d84895626b0825f4ab46907f15f9dadbe4101ec682aa034c7cebc59cfaea9ea9076ede7f4af152e8b2fa9cb6',
      sha512:
        '87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cdedaa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854',
    },
  ];
  for (const { key, data, ...digests } of vectors) {
    for (const algorithm of ['sha256', 'sha384', 'sha512'] as const) {
      const delivery = digests[algorithm];
      assert.deepEqual(verifyBody({ 'x-webhook-signature': delivery }, { algorithm }, key, Buffer.from(data)), { delivery });
    }
  }
});

test('accepts a hex signature in any case, with or without the algorithm name', () => {
  for (const header of [signature, signature.toUpperCase(), `sha256=${signature}`])
    assert.deepEqual(verifyBody({ 'x-webhook-signature': header }), { delivery: signature });
  for (const header of [
    signature.slice(1),
    `${signature}0`,
    `sha512=${signature}`,
    hex('sha256', 'another key', body),
    'x',
    '\u00e9'.repeat(64),
  ])
    assert.deepEqual(verifyBody({ 'x-webhook-signature': header }), INVALID, header);
  for (const headers of [{}, { 'x-webhook-signature': '' }, { 'x-other': signature }]) assert.deepEqual(verifyBody(headers), MISSING);
  assert.deepEqual(verifyBody({ 'x-mine': signature }, { headers: ['X-Mine'] }), { delivery: signature });
});

test('verifies the raw bytes of the body', () => {
  const spaced = Buffer.from('{"action": "opened"}');
  assert.deepEqual(verifyBody({ 'x-webhook-signature': hex('sha256', KEY, '{"action":"opened"}') }, {}, KEY, spaced), INVALID);
});

test('verifies the signature before the timestamp', () => {
  const verifyAt = (timestamp: string, changes: Partial<Check> = {}, header = signature) =>
    verifyBody({ 'x-webhook-signature': header, 'x-webhook-timestamp': timestamp }, changes);
  for (const second of [NOW_SEC, NOW_SEC - 300, NOW_SEC + 300]) assert.deepEqual(verifyAt(String(second)), { delivery: signature });
  for (const timestamp of [NOW_SEC - 301, NOW_SEC + 301, NOW, 'now', '-1', '1e9', `${NOW_SEC}.5`])
    assert.deepEqual(verifyAt(String(timestamp)), EXPIRED, String(timestamp));
  assert.deepEqual(verifyAt('now', {}, 'wrong'), INVALID);
  assert.deepEqual(verifyBody({ 'x-webhook-signature': signature }, { requireTimestamp: true }), NO_TIMESTAMP);
  assert.deepEqual(verifyBody({}, { requireTimestamp: true }), MISSING);
  assert.deepEqual(verifyAt(String(NOW_SEC), { requireTimestamp: true, maxAgeSec: 1 }), { delivery: signature });
});

test('rejects a changed timestamp that is signed', () => {
  const signed = hex('sha256', KEY, `${NOW_SEC}.${body.toString()}`);
  const verifySigned = (timestamp: number) =>
    verifyBody({ 'x-webhook-signature': signed, 'x-webhook-timestamp': String(timestamp) }, { signedTimestamp: true });
  assert.deepEqual(verifySigned(NOW_SEC), { delivery: signed });
  assert.deepEqual(verifySigned(NOW_SEC + 1), INVALID);
  assert.deepEqual(verifyBody({ 'x-webhook-signature': signed }, { signedTimestamp: true }), NO_TIMESTAMP);
});

test('accepts signatures of code hosts', async () => {
  const header = await sign(KEY, body.toString());
  const headers = { 'x-hub-signature-256': header };
  assert.deepEqual(verifyBody(headers, { headers: ['x-hub-signature-256', 'x-webhook-signature'] }), { delivery: signature });
});

test('accepts Standard Webhooks signatures and reads their id', () => {
  const key = `whsec_${Buffer.from('a key of twenty-four by').toString('base64')}`;
  const createHeaders = (id: string, date = new Date(NOW), signer = key) => ({
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(date.getTime() / 1_000)),
    'webhook-signature': new Webhook(signer).sign(id, date, body.toString()),
  });
  const standard = { scheme: 'standard' } as const;
  const good = createHeaders('msg_1');
  assert.deepEqual(verifyBody(good, standard, key), { delivery: 'msg_1' });
  assert.deepEqual(verifyBody(createHeaders('msg_1', new Date(NOW - 60_000)), standard, key), { delivery: 'msg_1' });
  const several = { ...good, 'webhook-signature': `v1a,other v1,AAAA ${good['webhook-signature']}` };
  assert.deepEqual(verifyBody(several, standard, key), { delivery: 'msg_1' });

  assert.deepEqual(verifyBody({ ...good, 'webhook-id': 'msg_2' }, standard, key), INVALID);
  assert.deepEqual(verifyBody({ ...good, 'webhook-timestamp': String(NOW_SEC + 1) }, standard, key), INVALID);
  assert.deepEqual(
    verifyBody(createHeaders('msg_1', new Date(NOW), `whsec_${Buffer.from('another').toString('base64')}`), standard, key),
    INVALID,
  );
  assert.deepEqual(verifyBody(createHeaders('msg_1', new Date(NOW - 400_000)), standard, key), EXPIRED);
  assert.deepEqual(verifyBody({ 'webhook-id': 'msg_1' }, standard, key), MISSING);
  assert.deepEqual(verifyBody({ 'webhook-id': 'msg_1', 'webhook-signature': 'v1,' }, standard, key), NO_TIMESTAMP);

  const raw = new Webhook(KEY, { format: 'raw' }).sign('msg_3', new Date(NOW), body.toString());
  assert.deepEqual(verifyBody({ ...good, 'webhook-id': 'msg_3', 'webhook-signature': raw }, standard), { delivery: 'msg_3' });
});
