import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { createLogger } from '@switchyard/telemetry';
import { hideQueryToken, getQueryTicket, getQueryToken } from './query-token.ts';
import { SECRETS, startTestGateway } from '../gateway.fixture.ts';

for (const [url, strippedUrl, token] of [
  ['/ws?token=abc', '/ws', 'abc'],
  ['/ws?a=1&token=a%2Bc&b=2', '/ws?a=1&b=2', 'a+c'],
  ['/ws?%74oken=abc', '/ws', 'abc'],
  ['/ws?token=abc&token=def', '/ws', 'abc'],
  ['/ws?token=', '/ws', ''],
  ['/ws?max_tokens=5', '/ws?max_tokens=5', undefined],
  ['/ws?a=%20', '/ws?a=%20', undefined],
  ['/token=abc', '/token=abc', undefined],
  ['/ws', '/ws', undefined],
] as const) {
  test(`reads the token of ${url} and leaves ${strippedUrl}`, () => {
    const request = { url } as IncomingMessage;
    hideQueryToken(request);
    assert.deepEqual([request.url, getQueryToken(request)], [strippedUrl, token]);
  });
}

test('removes a ticket from the URL like a token', () => {
  for (const [url, strippedUrl] of [
    ['/ws?ticket=a&b=2', '/ws?b=2'],
    ['/ws?token=x&%74icket=a', '/ws'],
  ] as const) {
    const request = { url } as IncomingMessage;
    hideQueryToken(request);
    assert.deepEqual([request.url, getQueryTicket(request)], [strippedUrl, 'a']);
  }
});

test('never logs a secret, even at level trace', async () => {
  const lines: string[] = [];
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  await using gateway = await startTestGateway({ log: createLogger({ level: 'trace', destination }) });
  await gateway.post(`/rpc?token=${SECRETS.all}`, '{"jsonrpc":"2.0","method":"system.ping","id":1}', { token: SECRETS.rpc });
  await (await gateway.connect('', `/ws?token=${SECRETS.admin}`)).request({ jsonrpc: '2.0', method: 'system.ping', id: 1 });
  await fetch(`${gateway.url}/nowhere?token=${SECRETS.mcp}`);
  const text = lines.join('');
  assert.match(text, /"msg":"request"/);
  assert.match(text, /"route":"\/rpc"/);
  for (const secret of Object.values(SECRETS)) assert.ok(!text.includes(secret));
});
