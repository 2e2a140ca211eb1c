import { StartError } from '@switchyard/service-kit';
import { openBalancer, type Balancer, type BalancerOptions } from './balancer.ts';

/** Opens the port for clients. Throws an error that names the reason and a remedy. */
export async function listenForClients(options: BalancerOptions): Promise<Balancer> {
  const { host, port } = options;
  try {
    return await openBalancer(options);
  } catch (cause) {
    throw new StartError(explainListenError((cause as NodeJS.ErrnoException).code, host, port), { cause });
  }
}

function explainListenError(code: string | undefined, host: string, port: number): string {
  const free = 'Use any free port: SWITCHYARD_PORT=0 make cluster';
  switch (code) {
    case 'EADDRINUSE':
      return `port ${port} on ${host} is in use. ${free}`;
    case 'EACCES':
      return `port ${port} on ${host} requires root. ${free}`;
    default:
      return `${host} is not an address of this machine (${code ?? 'unknown error'}). Listen on loopback: SWITCHYARD_HOST=127.0.0.1 make cluster`;
  }
}
