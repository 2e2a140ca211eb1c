import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError, type Principal } from '@switchyard/contracts';
import fc from 'fast-check';
import { formatSessionKey, parseSessionKey, resolveSession, type SessionIdentity } from './session-key.ts';

const caller: Principal = { tenant: 'default', client: 'cli', scopes: ['rpc'] };

const part = fc.string({ minLength: 1, maxLength: 12 });
const identities: fc.Arbitrary<SessionIdentity> = fc.record(
  {
    tenant: fc.stringMatching(/^[a-z0-9]{1,8}$/).filter((text) => text !== 'agent'),
    userId: part,
    channelId: fc.oneof(part, fc.constantFrom('a:b', 'x:peer:y', ':', 'thread', '%3A')),
    peerId: part,
    guildId: part,
    threadId: part,
    agentId: fc.stringMatching(/^[a-z0-9_-]{1,8}$/),
  },
  { requiredKeys: ['tenant', 'userId', 'channelId'] },
);

test('parses every formatted key back to the same identity', () => {
  fc.assert(fc.property(identities, (identity) => assert.deepEqual(parseSessionKey(formatSessionKey(identity)), { ...identity })));
});

test('formats keys as documented', () => {
  assert.equal(formatSessionKey({ tenant: 'default', userId: 'user123', channelId: 'telegram' }), 'default:user123:telegram');
  assert.equal(
    formatSessionKey({ agentId: 'oslo', tenant: 't', userId: 'u', channelId: 'c', peerId: 'p', guildId: 'g', threadId: 'x' }),
    'agent:oslo:t:u:c:peer:p:guild:g:thread:x',
  );
});

test('keeps colons in channels', () => {
  assert.deepEqual(parseSessionKey('default:u:web:main:42'), { tenant: 'default', userId: 'u', channelId: 'web:main:42' });
});

test('returns undefined for text of another shape', () => {
  for (const text of ['gateway', 'a:b', '', ':::', 'a::c', 'a:b:c:peer', 'a:b:c:peer:p:nonsense:x'])
    assert.equal(parseSessionKey(text), undefined);
});

test('fills missing parts from the caller', () => {
  assert.deepEqual(resolveSession(undefined, caller, undefined), { tenant: 'default', userId: 'cli', channelId: 'gateway' });
  assert.deepEqual(resolveSession({ peerId: 'p' }, caller, 'oslo'), {
    tenant: 'default',
    userId: 'cli',
    channelId: 'gateway',
    peerId: 'p',
    agentId: 'oslo',
  });
});

test('treats a plain string as a channel', () => {
  assert.equal(resolveSession('web-chat', caller, undefined).channelId, 'web-chat');
});

test('returns NOT_FOUND for a session of another tenant', () => {
  for (const address of ['acme:bob:gateway', { tenantId: 'acme' }]) {
    assert.throws(
      () => resolveSession(address, caller, undefined),
      (error) => error instanceof ServiceError && error.code === 'NOT_FOUND',
    );
  }
});
