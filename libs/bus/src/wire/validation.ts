import { payloadTooLargeError } from './errors.ts';
import { measureHeaders } from './headers.ts';
import type { Outgoing } from './transport.ts';

const SUBJECT = /^[\x21-\x7e]+$/;

/** What must never reach the wire: both adapters refuse the same. */
export function checkMessage({ subject, reply, headers, data }: Outgoing, maxPayload: number): void {
  if (!SUBJECT.test(subject) || (reply !== undefined && !SUBJECT.test(reply))) throw new TypeError('not a subject');
  const bytes = data.length + measureHeaders(headers);
  if (bytes > maxPayload) throw payloadTooLargeError('The message', bytes, maxPayload);
}

const KEY = /^[A-Za-z0-9_=-]+(\.[A-Za-z0-9_=-]+)*$/;

/** Keys of a bucket are subjects on NATS; both adapters refuse the same ones. */
export function checkKey(key: string): void {
  if (!KEY.test(key)) throw new TypeError('not a bucket key: expected A-Z a-z 0-9 _ = - in parts joined by dots');
}
