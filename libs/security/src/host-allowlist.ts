/**
 * Explains why an address must not be called; undefined if it may be. An empty list allows every host. An entry is a host, a host with
 * a port, or `*.example.com` for all subdomains. Malformed addresses are not checked here.
 */
export function explainBlockedHost(address: string, hosts: readonly string[]): string | undefined {
  if (hosts.length === 0 || !URL.canParse(address) || isListedHost(address, hosts)) return undefined;
  return `${new URL(address).hostname} must not be called: security.permission.allowedNetHosts does not include it`;
}

/** Whether the list has the host of a URL. An empty list has none. */
export function isListedHost(address: string, hosts: readonly string[]): boolean {
  if (hosts.length === 0) return false;
  const { hostname, host, port, protocol } = new URL(address);
  const withPort = port === '' ? `${hostname}:${protocol === 'https:' ? 443 : 80}` : host;
  return hosts.some((allowed) => matchesHost(allowed.toLowerCase(), hostname, withPort));
}

function matchesHost(allowed: string, hostname: string, withPort: string): boolean {
  return allowed.startsWith('*.') ? hostname.endsWith(allowed.slice(1)) : allowed === hostname || allowed === withPort;
}
