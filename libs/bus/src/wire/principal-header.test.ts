import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Principal } from '@switchyard/contracts';
import { PRINCIPAL, findHeader, isHeaderValue } from './headers.ts';
import { decodePrincipal, encodePrincipal } from './principal-header.ts';

const zoe: Principal = {
  tenant: 'acme',
  client: 'tok_1',
  scopes: ['rpc', 'admin'],
  agent: 'oslo',
  session: 'acme:zoë\r\n"x":☃',
  sessions: 'own',
  budgets: { perHour: 10, perDayUsd: 0.5 },
};

function getValue(principal: Principal): string {
  return findHeader(encodePrincipal(principal), PRINCIPAL) ?? '';
}

test('a principal round-trips through one line of ASCII', () => {
  const text = getValue(zoe);
  assert.ok(isHeaderValue(text), text);
  assert.deepEqual(decodePrincipal(text), zoe);
  const plain: Principal = { tenant: 'default', client: 'env', scopes: ['*'] };
  assert.deepEqual(decodePrincipal(getValue(plain)), plain);
  assert.deepEqual(decodePrincipal(getValue({ ...plain, scopes: [] })), { ...plain, scopes: [] });
  for (const held of [
    { ...plain, agents: ['oslo', 'rome'] },
    { ...zoe, agents: [] },
  ])
    assert.deepEqual(decodePrincipal(getValue(held)), held);
});

test('caches the encoding per object and the decoding per text', () => {
  const once = { ...zoe };
  const text = getValue(once);
  once.tenant = 'changed';
  assert.equal(getValue(once), text);
  const decoded = decodePrincipal(text);
  assert.equal(decodePrincipal(text), decoded);
  assert.ok(Object.isFrozen(decoded) && Object.isFrozen(decoded?.scopes));
});

test('decodes correctly after evictions from the cache', () => {
  for (let n = 0; n < 5_000; n++) {
    const text = getValue({ tenant: `t${n}`, client: 'c', scopes: [] });
    assert.equal(decodePrincipal(text)?.tenant, `t${n}`);
  }
  assert.equal(decodePrincipal(getValue({ tenant: 't0', client: 'c', scopes: [] }))?.tenant, 't0');
});

test('returns undefined for malformed headers', () => {
  const wrong = [
    '',
    'x',
    'null',
    '{}',
    '[]',
    '["","c","*",0,0,0]',
    '["t",1,"*",0,0,0]',
    '["t","c",["*"],0,0,0]',
    '["t","c","*"]',
    '["t","c","*",0,0]',
    '["t\u00f6","c","*",0,0,0]',
  ];
  for (const text of wrong) assert.equal(decodePrincipal(text), undefined, text);
  assert.deepEqual(decodePrincipal('["t","c","* root",0,0,0]')?.scopes, ['*']);
  assert.equal(decodePrincipal('["t","c","*",0,0,"anything"]')?.sessions, 'own');
});
