import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, type Socket } from 'node:net';
import ipaddr from 'ipaddr.js';

const LOOPBACK_HOSTS = ['localhost', '127.0.0.1', '[::1]'];

/**
 * Returns the right-most hop that is not a trusted proxy, because a client can forge every hop to its left. IPv6 clients are returned
 * as their /64, see `groupAddress`.
 */
export function resolveClientAddress(request: IncomingMessage, trusted: BlockList | undefined): string {
  return groupAddress(resolveClient(request, trusted));
}

function resolveClient(request: IncomingMessage, trusted: BlockList | undefined): string {
  const peer = unmapIpv4(request.socket.remoteAddress ?? 'unknown');
  const forwarded = request.headers['x-forwarded-for'];
  if (!trusted || forwarded === undefined || !isTrusted(trusted, peer)) return peer;
  const hops = String(forwarded)
    .split(',')
    .map((hop) => unmapIpv4(hop.trim()));
  let client = peer;
  for (const hop of hops.reverse()) {
    if (isIP(hop) === 0) break;
    client = hop;
    if (!isTrusted(trusted, hop)) break;
  }
  return client;
}

/** Returns the remote address of a socket; undefined for a trusted proxy, which carries many clients. */
export function getPeerAddress(socket: Socket, trusted: BlockList | undefined): string | undefined {
  const peer = unmapIpv4(socket.remoteAddress ?? 'unknown');
  return trusted && isTrusted(trusted, peer) ? undefined : groupAddress(peer);
}

/** An entry is an address or a range such as `10.0.0.0/8`. Returns undefined for an empty list. */
export function parseTrustedProxies(entries: readonly string[]): BlockList | undefined {
  if (entries.length === 0) return undefined;
  const list = new BlockList();
  for (const entry of entries) {
    const [address = '', bits] = entry.split('/');
    const version = isIP(address);
    if (version === 0) continue; // an invalid entry is ignored
    const family = version === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else if (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 6 ? 128 : 32)) list.addSubnet(address, Number(bits), family);
  }
  return list;
}

function isTrusted(trusted: BlockList, address: string): boolean {
  const version = isIP(address);
  return version !== 0 && trusted.check(address, version === 6 ? 'ipv6' : 'ipv4');
}

/** Turns an IPv4-mapped IPv6 address of any spelling into plain IPv4. */
function unmapIpv4(address: string): string {
  return address.includes(':') && ipaddr.isValid(address) ? ipaddr.process(address).toString() : address;
}

/** Bits of an IPv6 address that one customer of a provider has at least: it can change all others at will. */
const IPV6_GROUP_BITS = 64;

/** Returns an IPv4 address as it is, and the /64 network of an IPv6 address, in one spelling: `2001:db8::/64`. `::1` stays `::1`. */
function groupAddress(address: string): string {
  if (!address.includes(':') || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4 || parsed.range() === 'loopback') return parsed.toString();
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/${IPV6_GROUP_BITS}`).toString()}/${IPV6_GROUP_BITS}`;
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** The allowed `Host` names while the gateway listens on loopback, as protection against DNS rebinding. Undefined beyond loopback. */
export function getAllowedHosts(host: string, origins: readonly string[]): ReadonlySet<string> | undefined {
  if (!isLoopback(host)) return undefined;
  return new Set([...LOOPBACK_HOSTS, host, ...origins.map(getOriginHost)]);
}

/** The host without its port; undefined for an invalid header. */
export function parseHostName(header: string | undefined): string | undefined {
  return header === undefined ? undefined : /^(\[[0-9a-fA-F:.]+\]|[^:/@\s]+)(?::\d{1,5})?$/.exec(header)?.[1]?.toLowerCase();
}

function getOriginHost(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).hostname : origin;
}

/** Whether an origin is the gateway's own or listed. */
export function isOriginAllowed(origin: string, host: string | undefined, listed: readonly string[]): boolean {
  if (listed.includes(origin)) return true;
  return host !== undefined && URL.canParse(origin) && new URL(origin).host === host.toLowerCase();
}
