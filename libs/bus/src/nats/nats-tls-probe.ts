import { once } from 'node:events';
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectSecure } from 'node:tls';
import type { BusCredentials } from './bus-credentials.ts';

const DEFAULT_PORT = 4222;
/** How long the server may take for each step; it has been silent already. */
const STEP_TIMEOUT_MS = 2_000;

/**
 * Why a server that fell silent in the middle of dialling does not take our certificate; undefined where that is not the matter. With
 * TLS 1.3 a client is done with the handshake before the server has looked at its certificate, and the client library passes over
 * what comes then: so the handshake is made once more here, and listened to.
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
    return undefined; // it is away, or silent for another reason
  } finally {
    socket.destroy();
  }
}

/** The first line of a server says of itself what it wants: `INFO {…}`. */
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
