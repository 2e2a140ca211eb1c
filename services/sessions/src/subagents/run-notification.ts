import { subjects, type NotificationParams } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import type { RunDocument } from './run-document.ts';

/** Characters of a result in a notification. `session.run_status` returns the whole one. */
const MAX_RESULT_CHARS = 100_000;

/**
 * Sends `session.completed` to the WebSocket connections of the client that requested the run. The notification is sent once and not
 * repeated: a client that was not connected reads `session.run_status`.
 */
export function notifyRunEnd(bus: Bus, tenant: string, { sessionKey, parentKey, principal }: RunDocument, result: string): void {
  const params: NotificationParams<'session.completed'> = {
    sessionKey,
    parentSessionKey: parentKey,
    result: result.slice(0, MAX_RESULT_CHARS).toWellFormed(),
  };
  const message = JSON.stringify({ jsonrpc: '2.0', method: 'session.completed', params });
  bus.publish(subjects.notifyClient(tenant, principal.client), Buffer.from(message));
}
