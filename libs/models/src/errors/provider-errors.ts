import { ServiceError, type ErrorCode, type ErrorDetails } from '@switchyard/contracts';
import { NotTheProtocol } from './protocol-error.ts';
import { UpstreamError } from './upstream-error.ts';

/** Why a model call failed, and whether another attempt may do better. */
export interface Failure {
  error: ServiceError;
  transient: boolean;
  /** What the upstream asked for. */
  retryAfterMs?: number;
  /** The upstream's HTTP status, for the log. */
  status?: number;
}

/** Who was called. The key and the secrets beside it are known here only so that they can be struck from what the upstream says. */
export interface Callee {
  provider: string;
  /** What people call it; empty where nobody said. */
  title?: string;
  keyName: string | undefined;
  key: string | undefined;
  /** Why the key that one would expect was not sent. */
  keyWithheld?: string | undefined;
  /** Values of the provider's headers, any of which may be a key. */
  headers?: readonly string[];
}

/** Who it is, for people: whoever runs several of a kind knows them by the names they gave them. */
function named({ provider, title = '' }: Callee): string {
  return title === '' || title === provider ? provider : `${title} (${provider})`;
}

/** The upstream stopped before it said that it was done. A short answer must never be made of that. */
export function streamCut(provider: string): ServiceError {
  return failed('UNAVAILABLE', 'STREAM_CUT', `provider ${provider} ended its answer before it was complete`);
}

/** The upstream answered, but not with what the protocol says. */
export function badResponse(provider: string, what: string): ServiceError {
  return failed('UNAVAILABLE', 'BAD_RESPONSE', `provider ${provider} ${what}`, { retryable: false });
}

/** Nothing of that name can be called. */
export function modelNotFound(message: string): ServiceError {
  return failed('NOT_FOUND', 'MODEL_NOT_FOUND', message);
}

/** The configuration lacks what the call needs; the message says what to set. */
export function notConfigured(reason: string, message: string): ServiceError {
  return failed('FAILED_PRECONDITION', reason, message);
}

/** An error frame inside a stream, as the error the same trouble would have been before it. */
export function frameError(frame: unknown): UpstreamError {
  const { message, code, type } = (typeof frame === 'object' && frame !== null ? frame : { message: frame }) as Record<string, unknown>;
  const said = typeof message === 'string' ? message : 'error frame';
  const status = statusOf(code) ?? (String(type ?? code).includes('rate_limit') ? 429 : 500);
  return new UpstreamError(said, { status, ...(typeof code === 'string' ? { code } : {}) });
}

/** A code that is the status the error would have had. */
function statusOf(code: unknown): number | undefined {
  const status = Number(code);
  return Number.isInteger(status) && status >= 400 && status <= 599 ? status : undefined;
}

/** Maps whatever an adapter threw to the one error a caller sees. What it carries inside (bodies, headers) is left behind. */
export function classify(error: unknown, callee: Callee): Failure {
  if (error instanceof ServiceError) return { error, transient: error.details.reason === 'STREAM_CUT' };
  if (error instanceof NotTheProtocol) return { error: badResponse(named(callee), error.message), transient: false };
  if (error instanceof UpstreamError && error.status !== undefined) return refused(error, error.status, callee);
  if (connectionLost(error)) return unreachable(callee, networkCode(error) ?? 'connection lost');
  return { error: new ServiceError('INTERNAL', `calling provider ${named(callee)} failed`, { cause: error }), transient: false };
}

/** Whether the connection failed rather than the upstream. */
export function connectionLost(error: unknown): boolean {
  if (error instanceof UpstreamError) return error.status === undefined;
  return networkCode(error) !== undefined;
}

function refused({ message, headers, code }: UpstreamError, status: number, callee: Callee): Failure {
  const hints = retryHints(headers);
  const said = scrub(message, [callee.key, ...(callee.headers ?? [])]);
  const failure = fromStatus(status, said, callee);
  const exhausted = code === 'insufficient_quota';
  const transient = (status === 408 || status === 429 || status >= 500) && !hints.forbidden && !exhausted;
  const limited = failure.code === 'RESOURCE_EXHAUSTED';
  const limit = exhausted ? { reason: 'PROVIDER_QUOTA', retryable: false } : { rate: true };
  // The status is for the log: it is no part of what clients see of an error.
  const details = { ...failure.details, status, ...(limited ? { ...hints.after, ...limit } : {}) };
  return { error: new ServiceError(failure.code, failure.message, { details }), transient, status, ...hints.after };
}

function fromStatus(status: number, said: string, callee: Callee): ServiceError {
  const provider = named(callee);
  if (status === 401 || status === 403) return failed('FAILED_PRECONDITION', 'PROVIDER_AUTH', `provider ${provider} ${aboutKey(callee)}`);
  if (status === 404) return failed('NOT_FOUND', 'MODEL_NOT_FOUND', `provider ${provider} does not know the model: ${said}`);
  if (status === 429) return failed('RESOURCE_EXHAUSTED', 'PROVIDER_RATE_LIMITED', `provider ${provider} is over its limit: ${said}`);
  if (status === 408 || status >= 500)
    return failed('UNAVAILABLE', 'PROVIDER_UNAVAILABLE', `provider ${provider} failed (${status}): ${said}`);
  return failed('FAILED_PRECONDITION', 'PROVIDER_REJECTED', `provider ${provider} refused the request (${status}): ${said}`);
}

function aboutKey({ provider, keyName, keyWithheld }: Callee): string {
  if (keyName !== undefined) return `refused the key ${keyName}`;
  const where = `providers.entries.${provider}.apiKeyName`;
  return keyWithheld === undefined ? `wants a key: name it in ${where}` : `wants a key, and ${keyWithheld} in ${where}`;
}

function unreachable(callee: Callee, why: string): Failure {
  return { error: failed('UNAVAILABLE', 'PROVIDER_UNREACHABLE', `provider ${named(callee)} cannot be reached (${why})`), transient: true };
}

function failed(code: ErrorCode, reason: string, message: string, details: ErrorDetails = {}): ServiceError {
  return new ServiceError(code, message, { details: { reason, ...details } });
}

/** The system's word for a broken connection, wherever in the chain of causes it stands. */
function networkCode(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    const { code } = at as { code?: unknown };
    if (typeof code === 'string' && /^(E[A-Z]+|UND_ERR_\w+)$/.test(code)) return code;
  }
  return undefined;
}

function retryHints(headers: Readonly<Record<string, string>>): { forbidden: boolean; after: { retryAfterMs?: number } } {
  const retryAfterMs = retryAfter(headers);
  return { forbidden: headers['x-should-retry'] === 'false', after: retryAfterMs === undefined ? {} : { retryAfterMs } };
}

/** Milliseconds, seconds or a date, as providers write it. */
function retryAfter(headers: Readonly<Record<string, string>>): number | undefined {
  const ms = Number.parseFloat(headers['retry-after-ms'] ?? '');
  if (ms >= 0) return Math.ceil(ms);
  const after = headers['retry-after'];
  if (after === undefined) return undefined;
  const seconds = Number(after);
  const wait = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(after) - Date.now();
  return Number.isNaN(wait) ? undefined : Math.max(0, Math.ceil(wait));
}

const MAX_CHARS = 300;
const LOOKS_LIKE_A_KEY = /\b(?:sk|pk|rk|gsk|xai|key|AIza)[-_]?[A-Za-z0-9*_-]{12,}|\bBearer\s+\S+/g;

/** Shorter ones stand in innocent words, and guard nothing. */
const MIN_SECRET_CHARS = 6;
/** What an upstream says may be as long as it likes; only its beginning is looked at. */
const MAX_READ_CHARS = 4_096;

/** What an upstream said, fit to be shown: one line, short, and without what is secret or looks like a key. */
function scrub(said: string, secrets: readonly (string | undefined)[]): string {
  const text = said.slice(0, MAX_READ_CHARS);
  const known = secrets.filter((secret) => secret !== undefined && secret.length >= MIN_SECRET_CHARS);
  const without = known.reduce<string>((left, secret) => left.replaceAll(String(secret), '[REDACTED]'), text);
  const line = without.replace(LOOKS_LIKE_A_KEY, '[REDACTED]').replace(/\s+/g, ' ').trim();
  return line.length > MAX_CHARS ? `${line.slice(0, MAX_CHARS)}…` : line;
}
