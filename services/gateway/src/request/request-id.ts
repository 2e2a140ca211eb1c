import type { IncomingMessage } from 'node:http';
import { acceptRequestId } from '@switchyard/security';
import { scrub } from '@switchyard/telemetry';

/**
 * Returns the id that the client sent, or a new one. An id that looks like a secret is replaced, because the log would redact it and
 * could not be searched for it.
 */
export function getRequestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const header = headers['x-request-id'];
  const accepted = typeof header === 'string' && scrub(header) === header ? header : undefined;
  return acceptRequestId(accepted);
}
