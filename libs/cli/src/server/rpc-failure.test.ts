import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RpcError } from '@switchyard/client';
import { ERROR_CODES, type ErrorCode } from '@switchyard/contracts';
import { assertPasteable } from '../command.fixture.ts';
import type { Where } from './server-location.ts';
import { explain } from './rpc-failure.ts';

const log = "it's a log.log";
const run = { url: 'http://127.0.0.1:5000', processes: [{ service: 'embedded', replica: 'r', pid: 1, ports: {}, log }] };
const here: Where = { url: 'http://127.0.0.1:5000', urlFrom: 'run.json', local: true, data: 'd', token: 't', tokenFrom: 'saved', run };
const away: Where = {
  url: 'https://gateway.example',
  urlFrom: '--url',
  local: false,
  data: 'd',
  token: 't',
  tokenFrom: '--token',
  run: undefined,
};

function refusal(code: ErrorCode, more: Partial<RpcError['data']> = {}): RpcError {
  const error = new Error('it was not to be') as RpcError;
  return Object.assign(error, { name: 'RpcError', code: -32603, data: { code, requestId: 'req_1', retryable: false, ...more } });
}

test('suggests a command for each error code', () => {
  for (const code of ERROR_CODES) {
    for (const where of [here, { ...here, tokenFrom: 'SWITCHYARD_TOKEN' } as const, away]) {
      for (const more of [{}, { retryAfterMs: 100 }, { requestId: '' }]) {
        const { message, next } = explain(refusal(code, more), where, 'switchyard rpc x --help');
        assert.match(message, /\.$/, code);
        assert.doesNotMatch(next, /doctor/, code);
        assertPasteable(next);
      }
    }
  }
});

test('suggests different commands for call, server and token errors', () => {
  const next = (error: RpcError, where = here): string => explain(error, where, 'switchyard rpc x --help').next;
  assert.equal(next(refusal('INVALID_ARGUMENT')), 'switchyard rpc x --help');
  assert.equal(next(refusal('INTERNAL')), `grep req_1 'it'\\''s a log.log'`);
  assert.match(next(refusal('INTERNAL'), away), /switchyard status$/);
  assert.match(next(refusal('DEADLINE_EXCEEDED')), /switchyard status$/);
  assert.equal(next(refusal('RESOURCE_EXHAUSTED', { retryAfterMs: 1_200 })), 'sleep 2');
  assert.equal(
    next(refusal('PERMISSION_DENIED')),
    'read -rs SWITCHYARD_TOKEN && export SWITCHYARD_TOKEN SWITCHYARD_URL=http://127.0.0.1:5000',
  );
});

test('explains a rejected saved token', () => {
  const { message } = explain(refusal('UNAUTHENTICATED'), here, '');
  assert.match(message, /token saved in d, because it was rotated or revoked\. Use another token, or start .* with SWITCHYARD_TOKEN set\./);
  const fromVariable = explain(refusal('UNAUTHENTICATED'), { ...here, tokenFrom: 'SWITCHYARD_TOKEN_FILE' }, '');
  assert.equal(fromVariable.next, 'unset SWITCHYARD_TOKEN_FILE');
});
