// Listens on many WebSockets and says how much was heard, and how late: node bench/fan-out/audience.ts URL COUNT, the headers as JSON
// in HEADERS.
import type { Socket } from 'node:net';
import { openRawSocket } from '../raw-socket.ts';
import { quantile } from '../statistics.ts';
import { isMessage, now, sentAtOf } from './message.ts';

const AT_ONCE = 32;
/** Of all messages, the time of every so manieth is read. */
const SAMPLED = 16;

export interface Heard {
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
  if (messages++ % SAMPLED === 0) delays.push((now() - sentAtOf(bytes, at)) / 1_000);
}

let left = Number(count);
const opening = Array.from({ length: AT_ONCE }, async () => {
  while (left-- > 0) sockets.push(await openRawSocket(url, headers, onFrame));
});
await Promise.all(opening);

/** Stops reading on so many of them, or tells what was heard since it was asked last. */
process.on('message', ({ stall }: { stall?: number }) => {
  if (stall !== undefined) for (const socket of sockets.slice(0, stall)) socket.pause();
  const heard: Heard = { messages, p50Ms: delays.length ? quantile(delays, 0.5) : 0, p99Ms: delays.length ? quantile(delays, 0.99) : 0 };
  [messages, delays] = [0, []];
  process.send?.(heard);
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
