import type { Sections } from '@switchyard/contracts';
import { isLoopback } from './client-address.ts';

const EVERY_ADDRESS = new Set(['0.0.0.0', '::', '[::]']);

/** Warns about listening beyond loopback without TLS, with the remedy. Undefined for loopback, TLS and `allowInsecureHttp`. */
export function describeExposure({
  host,
  tls,
  allowInsecureHttp,
}: Pick<Sections['gateway'], 'host' | 'tls' | 'allowInsecureHttp'>): string | undefined {
  if (tls || allowInsecureHttp || isLoopback(host)) return undefined;
  const addresses = EVERY_ADDRESS.has(host) ? 'all network interfaces' : host;
  return (
    `the gateway listens on ${addresses} without TLS: tokens and responses travel in clear text. ` +
    'Set gateway.tls, terminate TLS in a proxy, or listen on loopback: SWITCHYARD_HOST=127.0.0.1. ' +
    'gateway.allowInsecureHttp: true disables this warning.'
  );
}
