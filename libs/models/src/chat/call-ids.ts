import { createHash } from 'node:crypto';

const STRICT = /^[A-Za-z0-9]{9}$/;
const DIGITS = /[^A-Za-z0-9]/g;

/**
 * The id of a call for upstreams that take nine letters and digits, and nothing else. The same id becomes the same one each time, so
 * that a result still names its call.
 */
export function strictCallId(callId: string): string {
  if (STRICT.test(callId)) return callId;
  return createHash('sha256').update(callId).digest('base64').replaceAll(DIGITS, '').slice(0, 9);
}
