import { ServiceError, type ErrorCode, type ErrorDetails } from '@switchyard/contracts';
import { ProtocolError } from './protocol-error.ts';
import { UpstreamError } from './upstream-error.ts';

/** A classified failure of a model call. `transient` failures are retried. */
export interface Failure {
  error: ServiceError;
  transient: boolean;
  /** The retry delay requested by the provider. */
  retryAfterMs?: number;
  /** The provider's HTTP status, for the log. */
  status?: number;
}

/** The called provider. The key and other secrets are only used to redact them from the provider's messages. */
export interface Callee {
  provider: string;
  /** The display name; empty if none is configured. */
  title?: string;
  keyName: string | undefined;
  key: string | undefined;
  /** Why the default key of the provider was not sent. */
  keyWithheld?: string | undefined;
  /** Values of the configured headers, which may contain keys. */
  headers?: readonly string[];
}

/** Formats a provider with its display name and id. */
function formatProvider({ provider, title = '' }: Callee): string {
  return title === '' || title === provider ? provider : `${title} (${provider})`;
}

/** Creates the error of a response that ended before its finish. It must not be treated as a short response. */
export function streamCut(provider: string): ServiceError {
  return createError('UNAVAILABLE', 'STREAM_CUT', `provider ${provider} ended its response before it was complete`);
}

/** Creates the error of a response that violates the protocol. */
export function badResponse(provider: string, description: string): ServiceError {
  return createError('UNAVAILABLE', 'BAD_RESPONSE', `provider ${provider} ${description}`, { retryable: false });
}

/** Creates the error of an unknown model. */
export function modelNotFound(message: string): ServiceError {
  return createError('NOT_FOUND', 'MODEL_NOT_FOUND', message);
}

/** Creates the error of an incomplete configuration. The message names the setting. */
export function notConfigured(reason: string, message: string): ServiceError {
  return createError('FAILED_PRECONDITION', reason, message);
}

/** Converts an error frame of a stream to the error that the same failure causes before the stream. */
export function createFrameError(frame: unknown): UpstreamError {
  const { message, code, type } = (typeof frame === 'object' && frame !== null ? frame : { message: frame }) as Record<string, unknown>;
  const detail = typeof message === 'string' ? message : 'error frame';
  const status = parseStatus(code) ?? (String(type ?? code).includes('rate_limit') ? 429 : 500);
  return new UpstreamError(detail, { status, ...(typeof code === 'string' ? { code } : {}) });
}

/** Returns an error code that is an HTTP status. */
function parseStatus(code: unknown): number | undefined {
  const status = Number(code);
  return Number.isInteger(status) && status >= 400 && status <= 599 ? status : undefined;
}

/** Converts any error of an adapter to a ServiceError. Response bodies and headers are not included. */
export function classify(error: unknown, callee: Callee): Failure {
  if (error instanceof ServiceError) return { error, transient: error.details.reason === 'STREAM_CUT' };
  if (error instanceof ProtocolError) return { error: badResponse(formatProvider(callee), error.message), transient: false };
  if (error instanceof UpstreamError && error.status !== undefined) return classifyRefusal(error, error.status, callee);
  const blocked = findBlockedAddress(error);
  if (blocked !== undefined) {
    return { error: notConfigured('HOST_NOT_ALLOWED', `provider ${formatProvider(callee)}: ${blocked.message}`), transient: false };
  }
  if (isConnectionError(error)) return classifyUnreachable(callee, findNetworkCode(error) ?? 'connection lost');
  return { error: new ServiceError('INTERNAL', `calling provider ${formatProvider(callee)} failed`, { cause: error }), transient: false };
}

/** Returns whether the connection failed and the provider sent no status. */
export function isConnectionError(error: unknown): boolean {
  if (error instanceof UpstreamError) return error.status === undefined && findBlockedAddress(error) === undefined;
  return findNetworkCode(error) !== undefined;
}

function classifyRefusal({ message, headers, code }: UpstreamError, status: number, callee: Callee): Failure {
  const hints = readRetryHints(headers);
  const detail = redact(message, [callee.key, ...(callee.headers ?? [])]);
  const failure = fromStatus(status, detail, callee);
  const exhausted = code === 'insufficient_quota';
  const transient = (status === 408 || status === 429 || status >= 500) && !hints.forbidden && !exhausted;
  const limited = failure.code === 'RESOURCE_EXHAUSTED';
  const limit = exhausted ? { reason: 'PROVIDER_QUOTA', retryable: false } : { rate: true };
  // The status is logged and not shown to clients.
  const details = { ...failure.details, status, ...(limited ? { ...hints.after, ...limit } : {}) };
  return { error: new ServiceError(failure.code, failure.message, { details }), transient, status, ...hints.after };
}

function fromStatus(status: number, detail: string, callee: Callee): ServiceError {
  const provider = formatProvider(callee);
  if (status === 401 || status === 403)
    return createError('FAILED_PRECONDITION', 'PROVIDER_AUTH', `provider ${provider} ${describeKeyProblem(callee)}`);
  if (status === 404) return createError('NOT_FOUND', 'MODEL_NOT_FOUND', `provider ${provider} does not know the model: ${detail}`);
  if (status === 429)
    return createError('RESOURCE_EXHAUSTED', 'PROVIDER_RATE_LIMITED', `provider ${provider}: rate limit exceeded: ${detail}`);
  if (status === 408 || status >= 500)
    return createError('UNAVAILABLE', 'PROVIDER_UNAVAILABLE', `provider ${provider} failed (${status}): ${detail}`);
  return createError('FAILED_PRECONDITION', 'PROVIDER_REJECTED', `provider ${provider} refused the request (${status}): ${detail}`);
}

function describeKeyProblem({ provider, keyName, keyWithheld }: Callee): string {
  if (keyName !== undefined) return `refused the key ${keyName}`;
  const location = `providers.entries.${provider}.apiKeyName`;
  return keyWithheld === undefined ? `requires a key: set its name in ${location}` : `requires a key. ${keyWithheld} in ${location}`;
}

function classifyUnreachable(callee: Callee, why: string): Failure {
  return {
    error: createError('UNAVAILABLE', 'PROVIDER_UNREACHABLE', `provider ${formatProvider(callee)} cannot be reached (${why})`, {
      networkCode: why,
    }),
    transient: true,
  };
}

function createError(code: ErrorCode, reason: string, message: string, details: ErrorDetails = {}): ServiceError {
  return new ServiceError(code, message, { details: { reason, ...details } });
}

/** Finds the refusal of libs/egress in the chain of causes. */
function findBlockedAddress(error: unknown): ServiceError | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    if (at instanceof ServiceError && at.details.reason === 'ADDRESS_BLOCKED') return at;
  }
  return undefined;
}

/** Finds the system error code in the chain of causes. */
function findNetworkCode(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    const { code } = at as { code?: unknown };
    if (typeof code === 'string' && /^(E[A-Z]+|UND_ERR_\w+)$/.test(code)) return code;
  }
  return undefined;
}

function readRetryHints(headers: Readonly<Record<string, string>>): { forbidden: boolean; after: { retryAfterMs?: number } } {
  const retryAfterMs = parseRetryAfter(headers);
  return { forbidden: headers['x-should-retry'] === 'false', after: retryAfterMs === undefined ? {} : { retryAfterMs } };
}

/** Parses `retry-after-ms`, or `retry-after` as seconds or a date. */
function parseRetryAfter(headers: Readonly<Record<string, string>>): number | undefined {
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

/** Shorter secrets are not redacted, because they also occur in ordinary words. */
const MIN_SECRET_CHARS = 6;
/** Only the beginning of a provider's message is processed. */
const MAX_READ_CHARS = 4_096;

/** Shortens a provider's message to one line and redacts secrets and text that looks like a key. */
function redact(detail: string, secrets: readonly (string | undefined)[]): string {
  const text = detail.slice(0, MAX_READ_CHARS);
  const known = secrets.filter((secret) => secret !== undefined && secret.length >= MIN_SECRET_CHARS);
  const without = known.reduce<string>((left, secret) => left.replaceAll(String(secret), '[REDACTED]'), text);
  const line = without.replace(LOOKS_LIKE_A_KEY, '[REDACTED]').replace(/\s+/g, ' ').trim();
  return line.length > MAX_CHARS ? `${line.slice(0, MAX_CHARS)}…` : line;
}
