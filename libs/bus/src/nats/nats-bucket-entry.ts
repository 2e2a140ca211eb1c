import { formatHeaders } from '../wire/headers.ts';

const OPERATION = 'KV-Operation';
const MARKER = 'Nats-Marker-Reason';

export const DELETE_HEADERS = formatHeaders([OPERATION, 'DEL']);

/** The subject of a key, as in the KV buckets of other NATS clients. */
export function keySubject(bucket: string, key: string): string {
  return `$KV.${bucket}.${key}`;
}

/** Whether a stored message is the marker of a deleted or expired key. */
export function isDeletion(header: (name: string) => string | undefined): boolean {
  return Boolean(header(OPERATION) || header(MARKER));
}
