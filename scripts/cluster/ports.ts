import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

const HOST = '127.0.0.1';
/** Below the range of ephemeral ports, so that no outgoing connection takes a port between its choice and its use. */
const FIRST = 20_000;
const PLACES = 50;
/** Ports per launcher. The first one is the launcher's lock. */
const PLACE = 240;

/** Allocates each port of a launcher once. */
export interface Ports extends AsyncDisposable {
  /** Returns a free port: the wanted one if it is free. */
  one(requestedCount?: number): Promise<number>;
  /** Returns this many different ports. */
  many(count: number): Promise<number[]>;
}

/**
 * Reserves a range of ports. A launcher uses its ports seconds after choosing them, and again at each restart of a process. It listens
 * on the first port of its range until it ends, so that no other launcher on this machine chooses the same range.
 */
export async function openPorts(): Promise<Ports> {
  const { claim, first } = await claimPlace();
  const tried = new Set<number>();
  const take = async (port: number): Promise<boolean> => {
    if (tried.has(port)) return false;
    tried.add(port); // before the check, so that a concurrent caller gets another port
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
      const matches: number[] = [];
      while (matches.length < count) matches.push(await one());
      return matches;
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
