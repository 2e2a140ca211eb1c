import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';

const HEAD_END = '\r\n\r\n';
const FINAL_TEXT = 0x81;
const MASKED = 0x80;
/** How long a server may take to answer a handshake. */
const PATIENCE_MS = 10_000;

/** Told of each frame: it begins at `at`, behind its head. */
export type OnFrame = (bytes: Buffer, at: number) => void;

/**
 * A WebSocket of a client, by hand: thousands of them in one process of a library of clients would cost more than the server that is
 * measured. Resolves when the server has agreed. Frames of up to 64 KiB are read.
 */
export function openRawSocket(url: string, headers: Record<string, string>, onFrame: OnFrame): Promise<Socket> {
  const { hostname, port, host, pathname } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  const fields = { host, connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', ...headers };
  const key = randomBytes(16).toString('base64');
  const lines = Object.entries({ ...fields, 'sec-websocket-key': key }).map(([name, value]) => `${name}: ${value}`);
  socket.write([`GET ${pathname} HTTP/1.1`, ...lines, '', ''].join('\r\n'));
  return new Promise((resolve, reject) => {
    socket.setTimeout(PATIENCE_MS, () => socket.destroy(new Error('no answer to the handshake')));
    socket.on('error', reject).once('close', () => reject(new Error('closed during the handshake')));
    socket.once('data', (answer: Buffer) => {
      if (!answer.toString('latin1', 0, 12).endsWith('101')) {
        socket.destroy(new Error(answer.toString('latin1', 0, 200)));
        return;
      }
      const read = frameReader(onFrame);
      socket.setTimeout(0).on('data', read);
      resolve(socket);
      read(answer.subarray(answer.indexOf(HEAD_END) + HEAD_END.length));
    });
  });
}

/** Server frames have no mask; what is cut between two reads waits for its rest. */
function frameReader(onFrame: OnFrame): (chunk: Buffer) => void {
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

/** A short text as a client sends it. The mask is there, as it must be, and changes nothing. */
export function clientFrame(text: string): Buffer {
  const body = Buffer.from(text);
  if (body.length > 125) throw new RangeError('only short texts');
  return Buffer.concat([Buffer.of(FINAL_TEXT, MASKED | body.length, 0, 0, 0, 0), body]);
}
