import { ServiceError, type ErrorCode } from '@switchyard/contracts';
import { payloadLostError, payloadTooLargeHereError } from '../wire/errors.ts';
import { BLOB, PRINCIPAL, findHeader, formatHeaders, type HeaderLines } from '../wire/headers.ts';
import { decodePrincipal } from '../wire/principal-header.ts';
import type { Message } from '../wire/transport.ts';

/** Carries beside the bus what is too large for a message. Everything fails with a `ServiceError`. */
export interface LargePayloads {
  /** Keeps bytes for services that speak for this tenant, until they are forgotten or their time is over. Gives what names them. */
  put(tenant: string, bytes: Uint8Array, given: { ttlMs: number; signal: AbortSignal }): Promise<string>;
  /** In pieces, read as they are asked for. */
  read(tenant: string, id: string, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** Nobody needs it any more. What could not be told stays until its time is over. */
  forget(tenant: string, id: string): void;
}

/** An answer that did not ride the bus. It is read once, or left. */
export interface LargePayload {
  /** In bytes. */
  readonly size: number;
  /** Back-pressure is the reader's: a piece is fetched when it is asked for. When the loop ends, however it ends, the bytes are forgotten. */
  chunks(signal: AbortSignal): AsyncIterable<Uint8Array>;
  discard(): void;
}

/** What stands in a message instead of its payload. It is written by services alone: whatever a caller puts into params is data. */
interface PayloadRef {
  id: string;
  size: number;
}

const REF = /^(\S{1,64}) (\d{1,12})$/;
/** An answer waits so long for whoever asked; a request no longer than its caller waits for the answer, and a little. */
const RESULT_TTL_MS = 15 * 60_000;
const MIN_PARAMS_TTL_MS = 60_000;

/** The header that says where the payload of an empty message is. */
export function formatPayloadHeader(id: string, size: number): HeaderLines {
  return formatHeaders([BLOB, `${id} ${size}`]);
}

/** Only a message without a payload can have it elsewhere, so that nobody looks through the headers of the others. */
export function readPayloadRef(message: Message): PayloadRef | undefined {
  if (message.data.length > 0) return undefined;
  const [, id, size] = REF.exec(message.header(BLOB) ?? '') ?? [];
  return id === undefined ? undefined : { id, size: Number(size) };
}

/** Whom a call is made for, as its head says. */
export function readTenant(principal: HeaderLines): string {
  return decodePrincipal(findHeader(principal, PRINCIPAL) ?? '')?.tenant ?? '';
}

/** Puts params aside; the caller's patience is how long they are kept. */
export function storeParams(large: LargePayloads, tenant: string, given: { params: Uint8Array; timeoutMs: number; signal: AbortSignal }) {
  const { params, timeoutMs, signal } = given;
  return mapStoreErrors('The params', large.put(tenant, params, { ttlMs: Math.max(timeoutMs, MIN_PARAMS_TTL_MS), signal }));
}

export function storeResult(large: LargePayloads, tenant: string, { data, signal }: { data: Uint8Array; signal: AbortSignal }) {
  return mapStoreErrors('The answer', large.put(tenant, data, { ttlMs: RESULT_TTL_MS, signal }));
}

/** Where a payload is, whose it is, and what it means to whoever waits that it cannot be had. */
export interface PayloadSource {
  large: LargePayloads | undefined;
  tenant: string;
  failed?: (error: ServiceError) => ServiceError;
}

/** What was put aside, to be read once. */
export function openPayload({ large, tenant, failed = (error) => error }: PayloadSource, { id, size }: PayloadRef): LargePayload {
  return {
    size,
    async *chunks(signal) {
      if (large === undefined) throw payloadLostError('It', undefined);
      let left = size;
      try {
        for await (const piece of large.read(tenant, id, signal)) {
          left -= piece.length;
          if (left < 0) break;
          yield piece;
        }
        if (left !== 0) throw payloadLostError('It', undefined);
      } catch (error) {
        throw failed(toPayloadError('It', error));
      } finally {
        large.forget(tenant, id);
      }
    },
    discard: () => large?.forget(tenant, id),
  };
}

/** All of it at once, for who needs it whole: no more than `maximum` bytes, whatever was promised. */
export async function collectPayload(what: string, answer: LargePayload, maximum: number, signal: AbortSignal): Promise<Uint8Array> {
  if (answer.size > maximum) {
    answer.discard();
    throw payloadTooLargeHereError(what, answer.size, maximum);
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

/** What a caller may be told in the words of the store; anything else would say of the call what is true of the store alone. */
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
