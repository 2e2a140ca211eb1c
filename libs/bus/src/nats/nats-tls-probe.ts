import { once } from 'node:events';
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectSecure } from 'node:tls';
import type { BusCredentials } from './bus-credentials.ts';

const DEFAULT_PORT = 4222;
/** Timeout of each step. The server has already timed out once. */
const STEP_TIMEOUT_MS = 2_000;

/**
 * Returns why a server that timed out rejects our client certificate, or undefined for other causes. With TLS 1.3 the handshake completes
 * for the client before the server checks the certificate, and the client library ignores the alert. This probe repeats the handshake and
 * reads the alert.
 */
export async function probeCertificateRejection(server: string, tls: BusCredentials['tls']): Promise<Error | undefined> {
  const { hostname, port } = new URL(`nats://${server}`);
  const host = hostname.replace(/^\[|\]$/g, '');
  const socket = connectPlain({ host, port: Number(port || DEFAULT_PORT) });
  socket.on('error', () => undefined);
  try {
    if (!(await wantsEncryption(socket))) return undefined;
    return await listenForAlert(socket, { host, ...tls });
  } catch {
    return undefined; // unreachable, or silent for another reason
  } finally {
    socket.destroy();
  }
}

/** Reads the server's first line, `INFO {…}`, which says whether it uses TLS. */
async function wantsEncryption(socket: Socket): Promise<boolean> {
  const [line] = (await once(socket, 'data', { signal: AbortSignal.timeout(STEP_TIMEOUT_MS) })) as [Buffer];
  return /"tls_(required|verify|available)":\s*true/.test(line.toString('latin1'));
}

async function listenForAlert(socket: Socket, options: { host: string } & NonNullable<BusCredentials['tls']>): Promise<Error | undefined> {
  const { host, ...tls } = options;
  const secure = connectSecure({ socket, host, ...(isIP(host) === 0 ? { servername: host } : {}), ...tls });
  const { promise, resolve } = Promise.withResolvers<Error | undefined>();
  secure.on('error', resolve).once('close', () => resolve(undefined));
  const timer = setTimeout(resolve, STEP_TIMEOUT_MS, undefined);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    secure.destroy();
  }
}
