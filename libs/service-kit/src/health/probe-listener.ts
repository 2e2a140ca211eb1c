import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { StartError } from '../variables/start-error.ts';

/** The address of a probe server and the variable that configures its port. */
export interface ProbeAddress {
  host: string;
  /** 0 selects a free port. */
  port: number;
  variable: string;
  /** Selects a free port if the port is in use; for default ports. */
  orFree?: boolean;
}

/** Starts to listen and returns the port. Throws a `StartError` that names the variable if the address is not available. */
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
      return `${variable}: port ${port} on ${host} is in use; 0 selects a free one.`;
    case 'EACCES':
      return `${variable}: port ${port} on ${host} requires root; use a port above 1023.`;
    default:
      return `SWITCHYARD_PROBE_HOST: ${host} is not an address of this machine (${code ?? 'unknown error'}).`;
  }
}
