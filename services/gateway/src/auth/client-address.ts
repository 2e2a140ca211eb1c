import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, type Socket } from 'node:net';

const LOOPBACK_HOSTS = ['localhost', '127.0.0.1', '[::1]'];

/** Who is at the other end: the right-most hop that is not a proxy of ours, so that nobody can claim another's address. */
export function clientAddress(request: IncomingMessage, trusted: BlockList | undefined): string {
  const peer = plainAddress(request.socket.remoteAddress ?? 'unknown');
  const forwarded = request.headers['x-forwarded-for'];
  if (!trusted || forwarded === undefined || !isTrusted(trusted, peer)) return peer;
  const hops = String(forwarded)
    .split(',')
    .map((hop) => plainAddress(hop.trim()));
  let client = peer;
  for (const hop of hops.reverse()) {
    if (isIP(hop) === 0) break;
    client = hop;
    if (!isTrusted(trusted, hop)) break;
  }
  return client;
}

/** Who is at the other end of a socket; undefined for a proxy of ours, behind which there are many. */
export function peerAddress(socket: Socket, trusted: BlockList | undefined): string | undefined {
  const peer = plainAddress(socket.remoteAddress ?? 'unknown');
  return trusted && isTrusted(trusted, peer) ? undefined : peer;
}

/** Undefined when nothing is trusted. An entry is an address or a range such as `10.0.0.0/8`. */
export function trustedList(entries: readonly string[]): BlockList | undefined {
  if (entries.length === 0) return undefined;
  const list = new BlockList();
  for (const entry of entries) {
    const [address = '', bits] = entry.split('/');
    const version = isIP(address);
    if (version === 0) continue; // not trusted
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

/** An IPv4 address looks the same whichever socket it came through. */
function plainAddress(address: string): string {
  return address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** What may stand in `Host` while only this machine can reach the edge: a page that rebinds its own name to us is turned away. */
export function allowedHosts(host: string, origins: readonly string[]): ReadonlySet<string> | undefined {
  if (!isLoopback(host)) return undefined;
  return new Set([...LOOPBACK_HOSTS, host, ...origins.map(hostOfOrigin)]);
}

/** Without the port; undefined for what is no host. */
export function hostName(header: string | undefined): string | undefined {
  return header === undefined ? undefined : /^(\[[0-9a-fA-F:.]+\]|[^:/@\s]+)(?::\d{1,5})?$/.exec(header)?.[1]?.toLowerCase();
}

function hostOfOrigin(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).hostname : origin;
}

/** A page of ours, or of an origin that is listed. */
export function originAllowed(origin: string, host: string | undefined, listed: readonly string[]): boolean {
  if (listed.includes(origin)) return true;
  return host !== undefined && URL.canParse(origin) && new URL(origin).host === host.toLowerCase();
}
