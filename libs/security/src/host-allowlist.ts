/**
 * Why an address is not to be called where only some hosts may be; undefined when it may, and where the list is empty. A host is named
 * as it is, with a port where only that one is meant, or with all below it: `*.example.com`. An address that is none is for others to
 * refuse.
 */
export function whyNotCalled(address: string, hosts: readonly string[]): string | undefined {
  if (hosts.length === 0 || !URL.canParse(address)) return undefined;
  const { hostname, host, port, protocol } = new URL(address);
  const withPort = port === '' ? `${hostname}:${protocol === 'https:' ? 443 : 80}` : host;
  if (hosts.some((allowed) => names(allowed.toLowerCase(), hostname, withPort))) return undefined;
  return `${hostname} is none of the hosts that may be called: security.permission.allowedNetHosts does not name it`;
}

function names(allowed: string, hostname: string, withPort: string): boolean {
  return allowed.startsWith('*.') ? hostname.endsWith(allowed.slice(1)) : allowed === hostname || allowed === withPort;
}
