import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { SecretRef } from '@switchyard/contracts';

/** The signature check of a mapping. */
export interface Check {
  scheme: 'hmac' | 'standard';
  key: SecretRef;
  /** Headers that can contain the signature of the scheme `hmac`; the first that is present counts. */
  headers: readonly string[];
  /** Prefix of the headers `id`, `timestamp` and `signature` of the scheme `standard`. */
  headerPrefix: string;
  algorithm: 'sha256' | 'sha384' | 'sha512';
  timestampHeader: string;
  maxAgeSec: number;
  requireTimestamp: boolean;
  signedTimestamp: boolean;
}

/** A received request. */
export interface SignedRequest {
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** Epoch milliseconds. */
  now: number;
}

/** The id of the delivery, which is the same for every repetition, or the problem with its signature. */
export type Verdict = { delivery: string } | { problem: string };

const MISSING = { problem: 'Missing webhook signature' };
const INVALID = { problem: 'Invalid webhook signature' };
const EXPIRED = { problem: 'Webhook timestamp expired or invalid' };
const NO_TIMESTAMP = { problem: 'Missing required webhook timestamp' };

/** Verifies the signature, and then its timestamp. */
export function verify(check: Check, key: string, signed: SignedRequest): Verdict {
  return check.scheme === 'standard' ? verifyStandard(check, key, signed) : verifyHmac(check, key, signed);
}

/** Verifies a hex HMAC of the raw body, with or without the name of the algorithm in front. */
function verifyHmac(check: Check, key: string, { headers, body, now }: SignedRequest): Verdict {
  const header = check.headers.map((name) => getHeader(headers, name)).find((value) => value !== undefined);
  if (header === undefined) return MISSING;
  const timestamp = getHeader(headers, check.timestampHeader);
  if (check.signedTimestamp && timestamp === undefined) return NO_TIMESTAMP;
  const signature = header.startsWith(`${check.algorithm}=`) ? header.slice(check.algorithm.length + 1) : header;
  const hmac = createHmac(check.algorithm, key);
  if (check.signedTimestamp) hmac.update(`${timestamp}.`);
  const expected = hmac.update(body).digest('hex');
  if (!isEqual(signature.toLowerCase(), expected)) return INVALID;
  if (timestamp === undefined) return check.requireTimestamp ? NO_TIMESTAMP : { delivery: expected };
  return isRecent(timestamp, now, check.maxAgeSec) ? { delivery: expected } : EXPIRED;
}

const MAX_SIGNATURES = 20;

/** Verifies a Standard Webhooks signature. It covers the id, which stays the same when the sender retries. */
function verifyStandard({ maxAgeSec, headerPrefix }: Check, key: string, { headers, body, now }: SignedRequest): Verdict {
  const id = getHeader(headers, `${headerPrefix}id`);
  const header = getHeader(headers, `${headerPrefix}signature`);
  const timestamp = getHeader(headers, `${headerPrefix}timestamp`);
  if (id === undefined || header === undefined) return MISSING;
  if (timestamp === undefined) return NO_TIMESTAMP;
  const hmac = createHmac('sha256', decodeStandardKey(key)).update(`${id}.${timestamp}.`).update(body);
  const expected = `v1,${hmac.digest('base64')}`;
  const signatures = header.split(' ').slice(0, MAX_SIGNATURES);
  if (!signatures.some((signature) => isEqual(signature, expected))) return INVALID;
  return isRecent(timestamp, now, maxAgeSec) ? { delivery: id } : EXPIRED;
}

/** A key with the prefix `whsec_` is base64. Other keys are used as they are. */
function decodeStandardKey(key: string): Buffer {
  return key.startsWith('whsec_') ? Buffer.from(key.slice('whsec_'.length), 'base64') : Buffer.from(key);
}

/** Compares in constant time. */
function isEqual(actual: string, expected: string): boolean {
  const [actualBytes, expectedBytes] = [Buffer.from(actual), Buffer.from(expected)];
  return actualBytes.length === expectedBytes.length && timingSafeEqual(actualBytes, expectedBytes);
}

function isRecent(timestamp: string, now: number, maxAgeSec: number): boolean {
  return /^\d{1,12}$/.test(timestamp) && Math.abs(now / 1_000 - Number(timestamp)) <= maxAgeSec;
}

/** An empty header counts as missing. */
function getHeader(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  const text = (Array.isArray(value) ? value.join(', ') : value)?.trim();
  return text === '' ? undefined : text;
}
