import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { SECRETS } from '../gateway.fixture.ts';
import type { PublishRequest } from './event-feed-load.fixture.ts';

const EVENTS = 18_000;
const RESUMES = 100;
/** CPU time of one turn of the event loop, which every other request waits for. */
const MAX_TURN_MS = 50;
const EVENT = Buffer.from('event: message:sent\n');

async function send(gateway: ChildProcess, request: PublishRequest | 'watch-event-loop' | 'longest-turn'): Promise<number> {
  const answer = once(gateway, 'message');
  gateway.send(request);
  return ((await answer) as [number])[0];
}

/** Resumes from the beginning of the log. Resolves when that many events have arrived. */
function resume(url: URL, log: string, expected: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect(Number(url.port), url.hostname);
  socket.write(`GET /api/events HTTP/1.1\r\nhost: ${url.host}\r\nauthorization: Bearer ${SECRETS.rpc}\r\nlast-event-id: ${log}-0\r\n\r\n`);
  let [count, rest] = [0, Buffer.alloc(0)];
  socket.on('data', (chunk) => {
    const bytes = Buffer.concat([rest, chunk]);
    let start = 0;
    for (let index = bytes.indexOf(EVENT); index >= 0; index = bytes.indexOf(EVENT, start))
      [start, count] = [index + EVENT.length, count + 1];
    rest = Buffer.from(bytes.subarray(Math.max(start, bytes.length - EVENT.length + 1)));
    if (count >= expected) socket.destroy();
  });
  socket.on('error', reject);
  socket.on('close', () => (count === expected ? resolve() : reject(new Error(`${count} of ${expected} events`))));
  return promise;
}

for (const [whose, tenant] of [
  ['its own', 'default'],
  ["another tenant's", 'elsewhere'],
] as const) {
  test(
    `${RESUMES} resumes over ${EVENTS} events, ${whose}, delay no other request by ${MAX_TURN_MS} ms`,
    { timeout: 300_000 },
    async (t) => {
      const script = fileURLToPath(new URL('event-feed-load.fixture.ts', import.meta.url));
      const gateway = fork(script, { execArgv: ['--expose-gc', '--disable-warning=ExperimentalWarning'] });
      await using stack = new AsyncDisposableStack();
      stack.defer(() => void gateway.kill('SIGKILL'));
      const [address] = (await once(gateway, 'message')) as [string];
      const url = new URL(address);
      // The first event of a stream names the log.
      const reader = (await fetch(`${address}/api/events`, { headers: { authorization: `Bearer ${SECRETS.rpc}` } })).body!.getReader();
      const [, log = ''] = /id: (\w+)-\d+/.exec(Buffer.from((await reader.read()).value ?? []).toString()) ?? [];
      await reader.cancel();
      await send(gateway, { perSecond: 20_000, count: EVENTS, tenant });
      await send(gateway, { perSecond: 20_000, count: 1 });

      const expected = tenant === 'default' ? EVENTS + 1 : 1;
      const longestTurns: number[] = [];
      // A garbage collection can lengthen a turn of one round.
      for (let round = 0; round < 2; round += 1) {
        await send(gateway, 'watch-event-loop');
        await Promise.all(Array.from({ length: RESUMES }, () => resume(url, log, expected)));
        longestTurns.push(await send(gateway, 'longest-turn'));
      }
      t.diagnostic(`the longest turns of two rounds took ${longestTurns.map((ms) => ms.toFixed(1)).join(' and ')} ms`);
      const longestTurn = Math.min(...longestTurns);
      assert.ok(longestTurn < MAX_TURN_MS, `the longest turn took ${longestTurn} ms`);
    },
  );
}
