import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { StartError } from '../variables/start-error.ts';

/** Where a probe is served, and which variable says so. */
export interface ProbeAddress {
  host: string;
  /** 0 picks a free one. */
  port: number;
  variable: string;
  /** Another one is taken where the port is in use: for a port that nobody asked for by name. */
  orFree?: boolean;
}

/** Begins to listen and gives the port. An address that cannot be had is a sentence that names its variable. */
export async function listen(server: Server, { host, port, variable, orFree = false }: ProbeAddress): Promise<number> {
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE' && orFree && port !== 0) return listen(server, { host, port: 0, variable });
    throw new StartError(sentence(code, { host, port, variable }), { cause });
  }
  return (server.address() as AddressInfo).port;
}

function sentence(code: string | undefined, { host, port, variable }: ProbeAddress): string {
  switch (code) {
    case 'EADDRINUSE':
      return `${variable}: port ${port} on ${host} is in use; 0 takes a free one.`;
    case 'EACCES':
      return `${variable}: port ${port} on ${host} is not for this user; take one above 1023.`;
    default:
      return `SWITCHYARD_PROBE_HOST: ${host} is no address of this machine (${code ?? 'unknown error'}).`;
  }
}
