import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { isTestPort } from './host-map.ts';

/** Ports of web servers. Other ports belong to mail servers, databases and the like. */
const PUBLIC_PORTS: ReadonlySet<number> = new Set([80, 443, 8_080, 8_443]);

/** Explains why a port must not be reached by a request whose address came from outside. Undefined if it may be reached. */
export function explainBlockedPort(port: number): string | undefined {
  if (PUBLIC_PORTS.has(port) || isTestPort(port)) return undefined;
  return `port ${port} is none of ${[...PUBLIC_PORTS].join(', ')}`;
}

/** Whether a host is this machine by its own name: `localhost`, 127.0.0.0/8 or ::1. The unspecified addresses are not. */
export function isLoopbackHost(hostname: string): boolean {
  if (isIP(hostname) === 0) return /^localhost\.?$/i.test(hostname);
  return ipaddr.parse(hostname).range() === 'loopback';
}
