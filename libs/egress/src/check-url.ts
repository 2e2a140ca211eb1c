import { explainBlockedHost } from '@switchyard/security';
import { checkDestination, readUrlDestination, type AddressChecks } from './connector.ts';
import { blockedError } from './errors.ts';

/**
 * Checks a URL before its request: scheme, credentials, allowed hosts, port, and a host that is an IP address. The addresses of names are
 * checked when they are resolved.
 */
export function checkUrl(url: URL, allowedNetHosts: readonly string[], checks: AddressChecks): void {
  const { protocol, hostname } = url;
  if (protocol !== 'http:' && protocol !== 'https:') throw blockedError(`${protocol} must not be called: expected http: or https:`);
  if (url.username !== '' || url.password !== '') throw blockedError(`${hostname} must not be called with credentials in the URL`);
  const problem = explainBlockedHost(url.href, allowedNetHosts);
  if (problem !== undefined) throw blockedError(problem);
  checkDestination(readUrlDestination(url), checks);
}
