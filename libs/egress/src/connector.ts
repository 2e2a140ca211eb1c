import { lookup as resolveHost, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { isListedHost } from '@switchyard/security';
import type { buildConnector } from 'undici';
import { explainBlockedAddress, explainMetadataAddress } from './address-rules.ts';
import { blockedError, portBlockedError } from './errors.ts';
import { findMappedHost, listMappedAddresses } from './host-map.ts';
import { explainBlockedPort, isLoopbackHost } from './port-rules.ts';

/**
 * Where requests may go. `public`: public addresses, for URLs from agents, pages and messages. `configured`: also private addresses and
 * this machine, for URLs that the operator configured, such as a local model provider. Metadata services are blocked in both.
 */
export type Reach = 'public' | 'configured';

export interface Destination {
  protocol: string;
  /** Without brackets. */
  hostname: string;
  port: number;
}

export interface AddressChecks {
  /** `security.egress.allowHosts`, read for each connection. Listed hosts are not checked. */
  allowHosts: () => readonly string[];
  reach: Reach;
  /** Whether `localhost`, 127.0.0.0/8 and ::1 may be reached on any port, for a browser that the operator allows to. */
  allowLoopback?: (() => boolean) | undefined;
}

/** Throws `ADDRESS_BLOCKED` unless every address may be reached. */
export function checkAddresses(addresses: readonly string[], { hostname, ...rest }: Destination, checks: AddressChecks): void {
  const destination = { hostname, ...rest };
  if (isListed(destination, checks) || (isAllowedLoopback(destination, checks) && addresses.every(isLoopbackHost))) return;
  const explain = checks.reach === 'public' ? explainBlockedAddress : explainMetadataAddress;
  if (addresses.length === 0) throw blockedError(`${hostname} must not be called: it has no address`);
  for (const address of addresses) {
    const problem = explain(address);
    if (problem === undefined) continue;
    throw blockedError(`${hostname} must not be called: ${problem}. The operator can allow a host in security.egress.allowHosts.`);
  }
}

/**
 * Throws `PORT_BLOCKED` for a port that must not be reached, and `ADDRESS_BLOCKED` for a host that is an IP address and must not be
 * reached. Names are checked when they are resolved.
 */
export function checkDestination(destination: Destination, checks: AddressChecks): void {
  checkPort(destination, checks);
  if (isIP(destination.hostname) !== 0) checkAddresses([destination.hostname], destination, checks);
}

function checkPort(destination: Destination, checks: AddressChecks): void {
  if (checks.reach !== 'public' || isListed(destination, checks) || isAllowedLoopback(destination, checks)) return;
  const { hostname, port } = destination;
  const problem = explainBlockedPort(port);
  if (problem === undefined) return;
  throw portBlockedError(
    `${hostname} must not be called: ${problem}. The operator can allow ${hostname}:${port} in security.egress.allowHosts.`,
  );
}

function isListed(destination: Destination, checks: AddressChecks): boolean {
  return isListedHost(formatUrl(destination), checks.allowHosts());
}

function isAllowedLoopback({ hostname }: Destination, { allowLoopback }: AddressChecks): boolean {
  return allowLoopback?.() === true && isLoopbackHost(hostname);
}

/**
 * Returns the `lookup` of one connection. It resolves the name once, checks every address, and hands only these addresses to the socket,
 * so that a second DNS answer is never used.
 */
export function createCheckedLookup(destination: Destination, checks: AddressChecks): LookupFunction {
  return (hostname, options, callback) => {
    const finish = (error: NodeJS.ErrnoException | null, answers: LookupAddress[]): void => {
      if (error !== null) return callback(error, '', 0);
      try {
        checkAddresses(
          answers.map(({ address }) => address),
          destination,
          checks,
        );
      } catch (refusal) {
        return callback(refusal as Error, '', 0);
      }
      const targets = findMappedHost(destination.hostname) === undefined ? answers : [{ address: '127.0.0.1', family: 4 }];
      const [first] = targets;
      if (options.all === true) callback(null, targets);
      else callback(null, first?.address ?? '', first?.family ?? 0);
    };
    const mapped = findMappedHost(destination.hostname);
    if (mapped === undefined) return resolveHost(hostname, { ...options, all: true }, finish);
    const addresses = listMappedAddresses(mapped).map((address) => ({ address, family: isIP(address) }));
    queueMicrotask(() => finish(null, addresses));
  };
}

/** The port to dial: a test may serve a name on another port. */
export function getDialPort({ hostname, port }: Destination): number {
  return findMappedHost(hostname)?.port ?? port;
}

/** Connectors kept, one for each origin, because each has the TLS sessions of its origin. The oldest is removed first. */
const MAX_CONNECTORS = 256;

/** Creates the connector of an undici dispatcher. Every connection is checked, whoever sends the request. */
export function createConnector(
  build: typeof buildConnector,
  options: buildConnector.BuildOptions,
  checks: AddressChecks,
): buildConnector.connector {
  const connectors = new Map<string, buildConnector.connector>();

  function getConnector(destination: Destination): buildConnector.connector {
    const origin = formatUrl(destination);
    let connector = connectors.get(origin);
    if (connector === undefined) {
      connector = build({ ...options, lookup: createCheckedLookup(destination, checks) });
      const [oldest] = connectors.keys();
      if (connectors.size >= MAX_CONNECTORS && oldest !== undefined) connectors.delete(oldest);
      connectors.set(origin, connector);
    }
    return connector;
  }

  return (target, callback) => {
    const destination = readUrlDestination(target);
    try {
      checkDestination(destination, checks);
    } catch (error) {
      queueMicrotask(() => callback(error as Error, null));
      return;
    }
    getConnector(destination)({ ...target, port: String(getDialPort(destination)) }, callback);
  };
}

export function readUrlDestination({ protocol, hostname, port }: Pick<URL, 'protocol' | 'hostname' | 'port'>): Destination {
  return { protocol, hostname: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || (protocol === 'https:' ? 443 : 80) };
}

function formatUrl({ protocol, hostname, port }: Destination): string {
  return `${protocol}//${isIP(hostname) === 6 ? `[${hostname}]` : hostname}:${port}`;
}
