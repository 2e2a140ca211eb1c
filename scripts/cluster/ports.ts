import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

const HOST = '127.0.0.1';
/** Below what systems give to outgoing connections, so that none of those sits on a port between its choice and its use. */
const FIRST = 20_000;
const PLACES = 50;
/** More than one cluster needs. The first of them is the launcher's own. */
const PLACE = 240;

/** Ports for what one launcher starts, each given once. */
export interface Ports extends AsyncDisposable {
  /** One on which nobody listens: the wanted one if it can be had. */
  one(wanted?: number): Promise<number>;
  /** As many different ones. */
  many(count: number): Promise<number[]>;
}

/**
 * A launcher uses what it chose only seconds later, and again whenever it starts somebody anew. So that no other launcher of this
 * machine chooses the same, each has a place of its own, and holds it by listening on the first port there until it ends.
 */
export async function openPorts(): Promise<Ports> {
  const { claim, first } = await claimPlace();
  const tried = new Set<number>();
  const take = async (port: number): Promise<boolean> => {
    if (tried.has(port)) return false;
    tried.add(port); // at once, so that whoever asks meanwhile gets another
    return isFree(port);
  };
  const one = async (wanted?: number): Promise<number> => {
    if (wanted !== undefined && (await take(wanted))) return wanted;
    for (let port = first + 1; port < first + PLACE; port++) if (await take(port)) return port;
    throw new Error(`no free port found between ${first} and ${first + PLACE}`);
  };
  return {
    one,
    async many(count) {
      const found: number[] = [];
      while (found.length < count) found.push(await one());
      return found;
    },
    async [Symbol.asyncDispose]() {
      claim.close();
    },
  };
}

/** Launchers look from different places on, so that they seldom meet at one. */
async function claimPlace(): Promise<{ claim: Server; first: number }> {
  for (let at = 0; at < PLACES; at++) {
    const first = FIRST + ((process.pid + at) % PLACES) * PLACE;
    const claim = await listen(first);
    if (claim !== undefined) return { claim: claim.unref(), first };
  }
  throw new Error(`no free port found between ${FIRST} and ${FIRST + PLACES * PLACE}`);
}

async function isFree(port: number): Promise<boolean> {
  const server = await listen(port);
  server?.close();
  return server !== undefined;
}

async function listen(port: number): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy());
  try {
    await once(server.listen(port, HOST), 'listening');
    return server;
  } catch {
    return undefined;
  }
}
