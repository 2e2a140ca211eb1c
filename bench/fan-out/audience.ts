// Receives on many WebSockets and reports the number of messages and their delay: node bench/fan-out/audience.ts URL COUNT, with the
// headers as JSON in HEADERS.
import type { Socket } from 'node:net';
import { openRawSocket } from '../raw-socket.ts';
import { quantile } from '../statistics.ts';
import { isMessage, now, readSentAt } from './message.ts';

const AT_ONCE = 32;
/** The delay of every n-th message is sampled. */
const SAMPLED = 16;

export interface Received {
  messages: number;
  p50Ms: number;
  p99Ms: number;
}

const [url = '', count = '0'] = process.argv.slice(2);
const headers = JSON.parse(process.env['HEADERS'] ?? '{}') as Record<string, string>;
const sockets: Socket[] = [];
let messages = 0;
let delays: number[] = [];

function onFrame(bytes: Buffer, at: number): void {
  if (!isMessage(bytes, at)) return;
  if (messages++ % SAMPLED === 0) delays.push((now() - readSentAt(bytes, at)) / 1_000);
}

let remaining = Number(count);
const opening = Array.from({ length: AT_ONCE }, async () => {
  while (remaining-- > 0) sockets.push(await openRawSocket(url, headers, onFrame));
});
await Promise.all(opening);

/** Stops reading on a number of sockets, or reports the messages since the last report. */
process.on('message', ({ stall }: { stall?: number }) => {
  if (stall !== undefined) for (const socket of sockets.slice(0, stall)) socket.pause();
  const receivedMessage: Received = {
    messages,
    p50Ms: delays.length ? quantile(delays, 0.5) : 0,
    p99Ms: delays.length ? quantile(delays, 0.99) : 0,
  };
  [messages, delays] = [0, []];
  process.send?.(receivedMessage);
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
