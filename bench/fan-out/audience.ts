// Listens on many WebSockets and says how much was heard, and how late: node bench/fan-out/audience.ts URL COUNT, the headers as JSON
// in HEADERS. It reads frames by itself, since a library of clients would cost more than the server that is measured.
import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
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

/** Server frames have no mask; what is cut between two reads waits for its rest. */
function frameReader(): (chunk: Buffer) => void {
  let rest: Buffer | undefined;
  return (chunk) => {
    const bytes = rest === undefined ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    while (at + 4 <= bytes.length) {
      const short = (bytes[at + 1] as number) & 0x7f;
      const head = short < 126 ? 2 : 4;
      const length = short < 126 ? short : bytes.readUInt16BE(at + 2);
      if (at + head + length > bytes.length) break;
      onFrame(bytes, at + head);
      at += head + length;
    }
    rest = at === bytes.length ? undefined : bytes.subarray(at);
  };
}

function open(): Promise<Socket> {
  const { hostname, port, host, pathname } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  const fields = { host, connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', ...headers };
  const key = randomBytes(16).toString('base64');
  const lines = Object.entries({ ...fields, 'sec-websocket-key': key }).map(([name, value]) => `${name}: ${value}`);
  socket.write([`GET ${pathname} HTTP/1.1`, ...lines, '', ''].join('\r\n'));
  return new Promise((resolve, reject) => {
    socket.once('error', reject).once('data', (answer: Buffer) => {
      if (!answer.toString('latin1', 0, 12).endsWith('101')) return reject(new Error(answer.toString('latin1', 0, 200)));
      socket.on('data', frameReader()).on('error', () => undefined);
      resolve(socket);
    });
  });
}

let left = Number(count);
const opening = Array.from({ length: AT_ONCE }, async () => {
  while (left-- > 0) sockets.push(await open());
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
