import { ServiceError, type ErrorCode } from '@switchyard/contracts';
import { payloadLostError, payloadTooLargeHereError } from '../wire/errors.ts';
import { BLOB, PRINCIPAL, findHeader, formatHeaders, type HeaderLines } from '../wire/headers.ts';
import { decodePrincipal } from '../wire/principal-header.ts';
import type { Message } from '../wire/transport.ts';

/** Stores payloads that are too large for a message. All methods fail with a `ServiceError`. */
export interface LargePayloads {
  /** Stores bytes for a tenant and returns their id. They are deleted by `forget` or after `ttlMs`. */
  put(tenant: string, bytes: Uint8Array, options: { ttlMs: number; signal: AbortSignal }): Promise<string>;
  /** Yields the bytes in chunks, fetched on demand. */
  read(tenant: string, id: string, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** Deletes the bytes. If that fails, they expire after their TTL. */
  forget(tenant: string, id: string): void;
}

/** A payload in the payload store. Read it once, or discard it. */
export interface LargePayload {
  /** In bytes. */
  readonly size: number;
  /** Fetches each chunk on demand. The bytes are deleted when the loop ends, for any reason. */
  chunks(signal: AbortSignal): AsyncIterable<Uint8Array>;
  discard(): void;
}

/** Reference that replaces the payload of a message. Only services write it; params of clients are never interpreted as a reference. */
interface PayloadRef {
  id: string;
  size: number;
}

const REF = /^(\S{1,64}) (\d{1,12})$/;
/** A result is kept for the caller to fetch it. Params are kept for the caller's timeout, at least `MIN_PARAMS_TTL_MS`. */
const RESULT_TTL_MS = 15 * 60_000;
const MIN_PARAMS_TTL_MS = 60_000;

/** Formats the header that names the payload of an empty message. */
export function formatPayloadHeader(id: string, size: number): HeaderLines {
  return formatHeaders([BLOB, `${id} ${size}`]);
}

/** Reads the reference of an empty message. Other messages never have one, so their headers are not parsed. */
export function readPayloadRef(message: Message): PayloadRef | undefined {
  if (message.data.length > 0) return undefined;
  const [, id, size] = REF.exec(message.header(BLOB) ?? '') ?? [];
  return id === undefined ? undefined : { id, size: Number(size) };
}

/** Reads the tenant from an encoded principal. */
export function readTenant(principal: HeaderLines): string {
  return decodePrincipal(findHeader(principal, PRINCIPAL) ?? '')?.tenant ?? '';
}

/** Stores params for the duration of the caller's timeout. */
export function storeParams(large: LargePayloads, tenant: string, options: { params: Uint8Array; timeoutMs: number; signal: AbortSignal }) {
  const { params, timeoutMs, signal } = options;
  return mapStoreErrors('The params', large.put(tenant, params, { ttlMs: Math.max(timeoutMs, MIN_PARAMS_TTL_MS), signal }));
}

export function storeResult(large: LargePayloads, tenant: string, { data, signal }: { data: Uint8Array; signal: AbortSignal }) {
  return mapStoreErrors('The answer', large.put(tenant, data, { ttlMs: RESULT_TTL_MS, signal }));
}

/** How to fetch a payload, and how to report that it is lost. */
export interface PayloadSource {
  large: LargePayloads | undefined;
  tenant: string;
  failed?: (error: ServiceError) => ServiceError;
}

/** Opens a stored payload for reading. */
export function openPayload({ large, tenant, failed = (error) => error }: PayloadSource, { id, size }: PayloadRef): LargePayload {
  return {
    size,
    async *chunks(signal) {
      if (large === undefined) throw payloadLostError('It', undefined);
      let remaining = size;
      try {
        for await (const piece of large.read(tenant, id, signal)) {
          remaining -= piece.length;
          if (remaining < 0) break;
          yield piece;
        }
        if (remaining !== 0) throw payloadLostError('It', undefined);
      } catch (error) {
        throw failed(toPayloadError('It', error));
      } finally {
        large.forget(tenant, id);
      }
    },
    discard: () => large?.forget(tenant, id),
  };
}

/** Reads a payload into memory. Throws if it is larger than `maximum`. */
export async function collectPayload(description: string, answer: LargePayload, maximum: number, signal: AbortSignal): Promise<Uint8Array> {
  if (answer.size > maximum) {
    answer.discard();
    throw payloadTooLargeHereError(description, answer.size, maximum);
  }
  const bytes = Buffer.allocUnsafeSlow(answer.size);
  let at = 0;
  for await (const piece of answer.chunks(signal)) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

async function mapStoreErrors<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw toPayloadError(what, error);
  }
}

/**
 * Store errors that are reported to the caller unchanged. Other errors become PAYLOAD_LOST, because their meaning applies to the store and
 * not to the call.
 */
const PASSED_THROUGH: ReadonlySet<ErrorCode> = new Set([
  'CANCELLED',
  'DEADLINE_EXCEEDED',
  'FAILED_PRECONDITION',
  'RESOURCE_EXHAUSTED',
  'UNAVAILABLE',
]);

function toPayloadError(what: string, error: unknown): ServiceError {
  return error instanceof ServiceError && PASSED_THROUGH.has(error.code) ? error : payloadLostError(what, error);
}
