import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { SecretRef } from '@switchyard/contracts';

/** How a sender shows who it is. */
export interface Check {
  scheme: 'hmac' | 'standard';
  key: SecretRef;
  /** Headers that can contain the signature; the first that is present counts. */
  headers: readonly string[];
  algorithm: 'sha256' | 'sha384' | 'sha512';
  timestampHeader: string;
  maxAgeSec: number;
  requireTimestamp: boolean;
  signedTimestamp: boolean;
}

/** A request as it came. */
export interface Signed {
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** Epoch milliseconds. */
  now: number;
}

/** Either what the delivery is known by, however often it is sent, or what is wrong with its signature. */
export type Verdict = { delivery: string } | { problem: string };

const MISSING = { problem: 'Missing webhook signature' };
const INVALID = { problem: 'Invalid webhook signature' };
const EXPIRED = { problem: 'Webhook timestamp expired or invalid' };
const NO_TIMESTAMP = { problem: 'Missing required webhook timestamp' };

/** Checks the signature, and then how old it says it is. */
export function verify(check: Check, key: string, signed: Signed): Verdict {
  return check.scheme === 'standard' ? verifyStandard(check, key, signed) : verifyHmac(check, key, signed);
}

/** The hex HMAC of the raw body, as code hosts send it also with the name of its algorithm in front. */
function verifyHmac(check: Check, key: string, { headers, body, now }: Signed): Verdict {
  const given = check.headers.map((name) => headerOf(headers, name)).find((value) => value !== undefined);
  if (given === undefined) return MISSING;
  const timestamp = headerOf(headers, check.timestampHeader);
  if (check.signedTimestamp && timestamp === undefined) return NO_TIMESTAMP;
  const signature = given.startsWith(`${check.algorithm}=`) ? given.slice(check.algorithm.length + 1) : given;
  const hmac = createHmac(check.algorithm, key);
  if (check.signedTimestamp) hmac.update(`${timestamp}.`);
  const expected = hmac.update(body).digest('hex');
  if (!equal(signature.toLowerCase(), expected)) return INVALID;
  if (timestamp === undefined) return check.requireTimestamp ? NO_TIMESTAMP : { delivery: expected };
  return isRecent(timestamp, now, check.maxAgeSec) ? { delivery: expected } : EXPIRED;
}

const MOST_SIGNATURES = 20;

/** Standard Webhooks: the id is signed, and stays the same when a sender tries again. */
function verifyStandard({ maxAgeSec }: Check, key: string, { headers, body, now }: Signed): Verdict {
  const id = headerOf(headers, 'webhook-id');
  const given = headerOf(headers, 'webhook-signature');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  if (id === undefined || given === undefined) return MISSING;
  if (timestamp === undefined) return NO_TIMESTAMP;
  const hmac = createHmac('sha256', standardKey(key)).update(`${id}.${timestamp}.`).update(body);
  const expected = `v1,${hmac.digest('base64')}`;
  const signatures = given.split(' ').slice(0, MOST_SIGNATURES);
  if (!signatures.some((signature) => equal(signature, expected))) return INVALID;
  return isRecent(timestamp, now, maxAgeSec) ? { delivery: id } : EXPIRED;
}

/** `whsec_` stands before base64; anything else is the key itself. */
function standardKey(key: string): Buffer {
  return key.startsWith('whsec_') ? Buffer.from(key.slice('whsec_'.length), 'base64') : Buffer.from(key);
}

/** Compares in constant time. */
function equal(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}

function isRecent(timestamp: string, now: number, maxAgeSec: number): boolean {
  return /^\d{1,12}$/.test(timestamp) && Math.abs(now / 1_000 - Number(timestamp)) <= maxAgeSec;
}

/** An empty header counts as missing. */
function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  const text = (Array.isArray(value) ? value.join(', ') : value)?.trim();
  return text === '' ? undefined : text;
}
