import { ServiceError, type ErrorCode } from '@switchyard/contracts';
import { payloadLost, tooLargeHere } from '../wire/errors.ts';
import { BLOB, PRINCIPAL, findHeader, headerLines, type HeaderLines } from '../wire/headers.ts';
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
export interface LargeAnswer {
  /** In bytes. */
  readonly size: number;
  /** Back-pressure is the reader's: a piece is fetched when it is asked for. When the loop ends, however it ends, the bytes are forgotten. */
  pieces(signal: AbortSignal): AsyncIterable<Uint8Array>;
  leave(): void;
}

/** What stands in a message instead of its payload. It is written by services alone: whatever a caller puts into params is data. */
interface LargeRef {
  id: string;
  size: number;
}

const REF = /^(\S{1,64}) (\d{1,12})$/;
/** An answer waits so long for whoever asked; a request no longer than its caller waits for the answer, and a little. */
const ANSWER_TTL_MS = 15 * 60_000;
const LEAST_TTL_MS = 60_000;

/** The header that says where the payload of an empty message is. */
export function refLines(id: string, size: number): HeaderLines {
  return headerLines([BLOB, `${id} ${size}`]);
}

/** Only a message without a payload can have it elsewhere, so that nobody looks through the headers of the others. */
export function refOf(message: Message): LargeRef | undefined {
  if (message.data.length > 0) return undefined;
  const [, id, size] = REF.exec(message.header(BLOB) ?? '') ?? [];
  return id === undefined ? undefined : { id, size: Number(size) };
}

/** Whom a call is made for, as its head says. */
export function tenantOf(principal: HeaderLines): string {
  return decodePrincipal(findHeader(principal, PRINCIPAL) ?? '')?.tenant ?? '';
}

/** Puts params aside; the caller's patience is how long they are kept. */
export function putParams(large: LargePayloads, tenant: string, given: { params: Uint8Array; timeoutMs: number; signal: AbortSignal }) {
  const { params, timeoutMs, signal } = given;
  return carried('The params', large.put(tenant, params, { ttlMs: Math.max(timeoutMs, LEAST_TTL_MS), signal }));
}

export function putAnswer(large: LargePayloads, tenant: string, { data, signal }: { data: Uint8Array; signal: AbortSignal }) {
  return carried('The answer', large.put(tenant, data, { ttlMs: ANSWER_TTL_MS, signal }));
}

/** Where a payload is, whose it is, and what it means to whoever waits that it cannot be had. */
export interface Aside {
  large: LargePayloads | undefined;
  tenant: string;
  failed?: (error: ServiceError) => ServiceError;
}

/** What was put aside, to be read once. */
export function openLarge({ large, tenant, failed = (error) => error }: Aside, { id, size }: LargeRef): LargeAnswer {
  return {
    size,
    async *pieces(signal) {
      if (large === undefined) throw payloadLost('It', undefined);
      let left = size;
      try {
        for await (const piece of large.read(tenant, id, signal)) {
          left -= piece.length;
          if (left < 0) break;
          yield piece;
        }
        if (left !== 0) throw payloadLost('It', undefined);
      } catch (error) {
        throw failed(crossing('It', error));
      } finally {
        large.forget(tenant, id);
      }
    },
    leave: () => large?.forget(tenant, id),
  };
}

/** All of it at once, for who needs it whole: no more than `maximum` bytes, whatever was promised. */
export async function collectLarge(what: string, answer: LargeAnswer, maximum: number, signal: AbortSignal): Promise<Uint8Array> {
  if (answer.size > maximum) {
    answer.leave();
    throw tooLargeHere(what, answer.size, maximum);
  }
  const bytes = Buffer.allocUnsafeSlow(answer.size);
  let at = 0;
  for await (const piece of answer.pieces(signal)) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

async function carried<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw crossing(what, error);
  }
}

/** What a caller may be told in the words of the store; anything else would say of the call what is true of the store alone. */
const TOLD: ReadonlySet<ErrorCode> = new Set([
  'CANCELLED',
  'DEADLINE_EXCEEDED',
  'FAILED_PRECONDITION',
  'RESOURCE_EXHAUSTED',
  'UNAVAILABLE',
]);

function crossing(what: string, error: unknown): ServiceError {
  return error instanceof ServiceError && TOLD.has(error.code) ? error : payloadLost(what, error);
}
