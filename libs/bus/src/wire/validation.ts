import { payloadTooLargeError } from './errors.ts';
import { measureHeaders } from './headers.ts';
import type { Outgoing } from './transport.ts';

const SUBJECT = /^[\x21-\x7e]+$/;

/** Throws for messages that must not be sent. Both adapters apply the same rules. */
export function checkMessage({ subject, reply, headers, data }: Outgoing, maxPayload: number): void {
  if (!SUBJECT.test(subject) || (reply !== undefined && !SUBJECT.test(reply))) throw new TypeError('invalid subject');
  const bytes = data.length + measureHeaders(headers);
  if (bytes > maxPayload) throw payloadTooLargeError('The message', bytes, maxPayload);
}

const KEY = /^[A-Za-z0-9_=-]+(\.[A-Za-z0-9_=-]+)*$/;

/** Throws for invalid bucket keys. On NATS a key is part of a subject; both adapters apply the same rule. */
export function checkKey(key: string): void {
  if (!KEY.test(key)) throw new TypeError('invalid bucket key: expected A-Z a-z 0-9 _ = - in parts joined by dots');
}
