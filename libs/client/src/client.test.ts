import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import type { Result } from '@switchyard/contracts';
import { createClient, type Client } from './index.ts';

type IsAny<T> = 0 extends 1 & T ? true : false;
type Same<A, B> = IsAny<A> extends true ? false : [A, B] extends [B, A] ? true : false;

/** Compile-time tests; the function is never called. */
export async function typed(client: Client): Promise<void> {
  const ping = await client.call('system.ping');
  void (true satisfies Same<typeof ping, Result<'system.ping'>>);
  void (true satisfies Same<typeof ping.ts, number>);
  const turn = await client.call('agent.execute', { message: 'hi' }, { timeoutMs: 5 });
  void (true satisfies Same<typeof turn.response, string>);
  const document = await client.call('rpc.discover');
  void (true satisfies Same<typeof document.openrpc, '1.3.2'>);

  // @ts-expect-error no such method
  await client.call('session.lst');
  // @ts-expect-error a private operation is not a method
  await client.call('turns.start', {});
  // @ts-expect-error params are required
  await client.call('agent.execute');
  // @ts-expect-error message is required
  await client.call('agent.execute', { agentId: 'oslo' });
  // @ts-expect-error message is text
  await client.call('agent.execute', { message: 1 });
  // @ts-expect-error no such param
  await client.call('agent.execute', { message: 'hi', mesage: 'hi' });
  // @ts-expect-error no such field in the result
  void ping.pnog;

  const [first, second] = await client.batch([
    { method: 'system.ping', params: {} },
    { method: 'agent.execute', params: { message: 'hi' } },
  ]);
  if (first.ok) void (true satisfies Same<typeof first.result, Result<'system.ping'>>);
  if (second.ok) void (true satisfies Same<typeof second.result.response, string>);
  // @ts-expect-error message is required in a batch too
  await client.batch([{ method: 'agent.execute', params: {} }]);

  client.on('heartbeat', ({ ts }) => void (true satisfies Same<typeof ts, number>));
  // @ts-expect-error no such notification
  client.on('hartbeat', () => {});

  for await (const event of client.chat('hi')) {
    if (event.type === 'token') void (true satisfies Same<typeof event.accumulated, string>);
    if (event.type === 'done') void (true satisfies Same<typeof event.tokensUsed.total, number>);
  }
}

function never(): never {
  assert.fail('connected');
}

test('createClient does not connect before the first call', () => {
  const client = createClient({ url: 'http://127.0.0.1:1', transport: 'ws', fetch: never, WebSocket: never as never });
  client.close();
});

test('the client imports no module at run time', async () => {
  const files = await Array.fromAsync(glob('!(*.test|*.fixture).ts', { cwd: import.meta.dirname }));
  assert.ok(files.length > 8);
  for (const file of files) {
    const source = await readFile(`${import.meta.dirname}/${file}`, 'utf8');
    for (const [statement, from] of source.matchAll(/^(?:import|export) [^;]*? from '([^']+)'/gms)) {
      assert.ok(from?.startsWith('./') || statement.startsWith('import type '), `${file}: ${statement}`);
    }
  }
});
