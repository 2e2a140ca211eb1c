import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { SECRETS } from '../gateway.fixture.ts';
import type { Say } from './event-feed-load.fixture.ts';

// 2,000 readers for half a minute: SSE_READERS=2000 SSE_SECONDS=30 node --test services/gateway/src/events/event-feed-load.test.ts
const READERS = Number(process.env['SSE_READERS'] ?? 200);
const SECONDS = Number(process.env['SSE_SECONDS'] ?? 1);
const PER_SECOND = Number(process.env['SSE_PER_SECOND'] ?? 200);
/** Every tenth reader does not read. */
const STALLED = Math.floor(READERS / 10);
const PATIENCE_MS = (SECONDS + 60) * 1_000;
const MIB = 1_048_576;
/** Maximum growth of the gateway. On a slow machine all readers lag, and each reads from the log separately. */
const MOST_MIB = 128 + READERS / 4;

const EVENT = Buffer.from('event: message:sent\n');

interface Reader {
  socket: Socket;
  events: number;
}

async function ask(edge: ChildProcess, what: Say | 'weigh'): Promise<number> {
  const answer = once(edge, 'message');
  edge.send(what);
  return ((await answer) as [number])[0];
}

/** Counts the events that come; half of one that two chunks share is kept. */
async function openReader(url: URL, all: number, done: () => void): Promise<Reader> {
  const socket = connect(Number(url.port), url.hostname);
  const reader: Reader = { socket, events: 0 };
  socket.write(`GET /api/events HTTP/1.1\r\nhost: ${url.host}\r\nauthorization: Bearer ${SECRETS.rpc}\r\n\r\n`);
  let rest: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let from = 0;
    for (let at = bytes.indexOf(EVENT); at >= 0; at = bytes.indexOf(EVENT, from)) {
      from = at + EVENT.length;
      if (++reader.events === all) done();
    }
    rest = bytes.subarray(Math.max(from, bytes.length - EVENT.length + 1));
  });
  await once(socket, 'data');
  return reader;
}

test(
  `${PER_SECOND} events a second reach each of ${READERS} readers, in bounded memory, though some do not read`,
  { timeout: PATIENCE_MS },
  async (t) => {
    const script = fileURLToPath(new URL('event-feed-load.fixture.ts', import.meta.url));
    const edge = fork(script, { execArgv: ['--expose-gc', '--disable-warning=ExperimentalWarning'] });
    await using stack = new AsyncDisposableStack();
    stack.defer(() => void edge.kill('SIGKILL'));
    const [address] = (await once(edge, 'message')) as [string];
    const url = new URL(address);
    const count = PER_SECOND * SECONDS;
    let left = READERS - STALLED;
    const whole = Promise.withResolvers<void>();
    const readers: Reader[] = [];
    for (let at = 0; at < READERS; at += 1) readers.push(await openReader(url, count, () => void (--left === 0 && whole.resolve())));
    stack.defer(() => readers.forEach(({ socket }) => void socket.destroy()));
    for (const { socket } of readers.slice(0, STALLED)) socket.pause();

    const before = await ask(edge, 'weigh');
    const startedAt = performance.now();
    const most = await ask(edge, { perSecond: PER_SECOND, count });
    const saidMs = performance.now() - startedAt;
    await whole.promise;
    const heardMs = performance.now() - startedAt;
    const grown = (Math.max(most, await ask(edge, 'weigh')) - before) / MIB;
    t.diagnostic(
      `${count} events in ${Math.round(saidMs)} ms, the last of them read everywhere ${Math.round(heardMs - saidMs)} ms later; ${Math.round(before / MIB)} MiB before, ${Math.round(grown)} more`,
    );
    assert.ok(grown < MOST_MIB, `it grew by ${Math.round(grown)} MiB`);
    for (const { events } of readers.slice(STALLED)) assert.equal(events, count, 'each event once');
  },
);
