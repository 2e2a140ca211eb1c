import { tooLarge } from './errors.ts';
import { headerBytes } from './headers.ts';
import type { Outgoing } from './transport.ts';

const SUBJECT = /^[\x21-\x7e]+$/;

/** What must never reach the wire: both adapters refuse the same. */
export function checkMessage({ subject, reply, headers, data }: Outgoing, maxPayload: number): void {
  if (!SUBJECT.test(subject) || (reply !== undefined && !SUBJECT.test(reply))) throw new TypeError('not a subject');
  const bytes = data.length + headerBytes(headers);
  if (bytes > maxPayload) throw tooLarge('The message', bytes, maxPayload);
}
