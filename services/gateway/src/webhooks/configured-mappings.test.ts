import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sections } from '@switchyard/contracts';
import { allowsUnsigned } from './configured-mappings.ts';

const webhooks = sections.webhooks.parse({});

test('allowsUnsigned accepts senders on this machine only', () => {
  for (const address of ['127.0.0.1', '127.8.0.1', '::1']) assert.equal(allowsUnsigned(webhooks, { address, headers: {} }), true, address);
  for (const address of ['203.0.113.9', '10.0.0.1', '2001:db8::/64', 'unknown'])
    assert.equal(allowsUnsigned(webhooks, { address, headers: {} }), false, address);
});

test('allowsUnsigned rejects a request that a proxy on this machine forwarded', () => {
  for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'])
    assert.equal(allowsUnsigned(webhooks, { address: '127.0.0.1', headers: { [name]: '' } }), false, name);
});

test('allowsUnsigned accepts every sender with allowUnauthenticated', () => {
  const open = { ...webhooks, allowUnauthenticated: true };
  assert.equal(allowsUnsigned(open, { address: '203.0.113.9', headers: { via: '1.1 proxy' } }), true);
});
