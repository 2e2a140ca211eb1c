import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';

const HEAD_END = '\r\n\r\n';
const FINAL_TEXT = 0x81;
const MASKED = 0x80;
/** Limit for the WebSocket handshake. */
const HANDSHAKE_TIMEOUT_MS = 10_000;

/** Called for each frame; its payload begins at `at`. */
export type OnFrame = (bytes: Buffer, at: number) => void;

/**
 * A minimal WebSocket client on a TCP socket. Thousands of clients of a library would cost more than the measured server. Resolves after
 * the handshake. Reads frames of up to 64 KiB.
 */
export function openRawSocket(url: string, headers: Record<string, string>, onFrame: OnFrame): Promise<Socket> {
  const { hostname, port, host, pathname } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  const fields = { host, connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', ...headers };
  const key = randomBytes(16).toString('base64');
  const lines = Object.entries({ ...fields, 'sec-websocket-key': key }).map(([name, value]) => `${name}: ${value}`);
  socket.write([`GET ${pathname} HTTP/1.1`, ...lines, '', ''].join('\r\n'));
  return new Promise((resolve, reject) => {
    socket.setTimeout(HANDSHAKE_TIMEOUT_MS, () => socket.destroy(new Error('no answer to the handshake')));
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

/** Reads unmasked server frames. A frame that is split between two reads is kept until its rest arrives. */
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

/** Encodes a short text frame of a client. Its mask is zero, which is valid and changes no byte. */
export function clientFrame(text: string): Buffer {
  const body = Buffer.from(text);
  if (body.length > 125) throw new RangeError('only short texts');
  return Buffer.concat([Buffer.of(FINAL_TEXT, MASKED | body.length, 0, 0, 0, 0), body]);
}
