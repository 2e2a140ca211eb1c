import { once } from 'node:events';
import { createServer } from 'node:net';

const HOST = '127.0.0.1';
/** Below what systems give to outgoing connections, so that none of those sits on a port between its choice and its use. */
const FIRST = 20_000;
const LAST = 32_000;
const ATTEMPTS = 200;
/** Launchers that start at once look in places of their own: what one has chosen it does not use before some seconds have passed. */
const OWN = 120;
const OWN_FIRST = FIRST + (process.pid % Math.floor((LAST - FIRST) / OWN)) * OWN;

/** A port of this machine on which nobody listens: the wanted one if it can be had. */
export async function freePort(wanted?: number): Promise<number> {
  if (wanted !== undefined && (await isFree(wanted))) return wanted;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const [first, count] = attempt < ATTEMPTS / 2 ? [OWN_FIRST, OWN] : [FIRST, LAST - FIRST];
    const port = first + Math.floor(Math.random() * count);
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port found between ${FIRST} and ${LAST}`);
}

/** As many different ones, none of `except`: ports that are chosen, and that nobody listens on yet. */
export async function freePorts(count: number, except: readonly number[]): Promise<number[]> {
  const found = new Set<number>();
  while (found.size < count) {
    const port = await freePort();
    if (!except.includes(port)) found.add(port);
  }
  return [...found];
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, HOST), 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
