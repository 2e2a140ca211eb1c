import type { IncomingMessage } from 'node:http';
import { acceptRequestId } from '@switchyard/security';
import { scrub } from '@switchyard/telemetry';

/**
 * The id that a request brings, or a new one. What looks like a secret would not be written to the log, where whoever is shown
 * the id must find it, so that one is not kept.
 */
export function requestIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id'];
  const kept = typeof given === 'string' && scrub(given) === given ? given : undefined;
  return acceptRequestId(kept);
}
