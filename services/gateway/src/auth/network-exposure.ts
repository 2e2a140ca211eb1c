import type { Sections } from '@switchyard/contracts';
import { isLoopback } from './client-address.ts';

const EVERY_ADDRESS = new Set(['0.0.0.0', '::', '[::]']);

/** What it means to listen beyond this machine without TLS, and what to do; undefined where there is nothing to say. */
export function describeExposure({
  host,
  tls,
  allowInsecureHttp,
}: Pick<Sections['gateway'], 'host' | 'tls' | 'allowInsecureHttp'>): string | undefined {
  if (tls || allowInsecureHttp || isLoopback(host)) return undefined;
  const where = EVERY_ADDRESS.has(host) ? 'this machine, on any of its networks,' : host;
  return (
    `whoever can reach ${where} can reach the gateway, and tokens and answers travel in clear text. ` +
    'Set gateway.tls, let a proxy in front of it end TLS, or listen on this machine alone: SWITCHYARD_HOST=127.0.0.1. ' +
    'gateway.allowInsecureHttp: true silences this.'
  );
}
