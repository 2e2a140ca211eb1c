import { IDEMPOTENCY_KEY, IdempotencyKey, invalidParams, type Callable, type ServiceError } from '@switchyard/contracts';
import type { Fault } from './json-rpc-responses.ts';

const HEADER = 'Idempotency-Key';

/** A key in the header is ambiguous for a batch. */
export const BATCH_WITH_KEY: Fault = {
  number: -32600,
  code: 'INVALID_ARGUMENT',
  message: `Invalid Request: the header ${HEADER} applies to a single call; in a batch set params.${IDEMPOTENCY_KEY}`,
};

interface KeyedCall {
  method: string;
  /** Undefined for methods of the gateway. */
  callable: Callable | undefined;
}

/**
 * Adds the key of the header to the params. Throws an error when the method takes no key, the key is invalid, or the params contain
 * another key.
 */
export function addIdempotencyKey({ method, callable }: KeyedCall, params: Uint8Array, key: string): Uint8Array {
  if (!callable?.keyed) throw createUnsupportedKeyError(method, callable);
  if (!IdempotencyKey.safeParse(key).success) throw createInvalidKeyError();
  const bytes = Buffer.from(params.buffer, params.byteOffset, params.length);
  requireSameKey(bytes, key);
  const text = `{${JSON.stringify(IDEMPOTENCY_KEY)}:${JSON.stringify(key)}`;
  const isEmpty = bytes.subarray(1, -1).every((byte) => SPACES.has(byte));
  return Buffer.concat([Buffer.from(isEmpty ? text : `${text},`), bytes.subarray(1)]);
}

const SPACES: ReadonlySet<number> = new Set(Buffer.from(' \t\r\n'));

function createUnsupportedKeyError(method: string, callable: Callable | undefined): ServiceError {
  const reason = callable?.idempotent === false ? 'each call is executed again' : 'the method is idempotent';
  return invalidParams([
    {
      path: IDEMPOTENCY_KEY,
      expected: 'no key',
      received: `the header ${HEADER}`,
      message: `${method} takes no idempotency key (${reason}); omit the header ${HEADER}`,
    },
  ]);
}

function createInvalidKeyError(): ServiceError {
  const { description: expected = 'a key' } = IdempotencyKey;
  return invalidParams([
    { path: IDEMPOTENCY_KEY, expected, received: 'another string', message: `${HEADER}: expected ${expected}, got another string` },
  ]);
}

/** Throws an error for another key in the params. They are parsed only if they may contain a key. */
function requireSameKey(params: Buffer, key: string): void {
  if (!params.includes(`"${IDEMPOTENCY_KEY}"`)) return;
  const parsed = JSON.parse(params.toString()) as Record<string, unknown>;
  if (!(IDEMPOTENCY_KEY in parsed) || parsed[IDEMPOTENCY_KEY] === key) return;
  throw invalidParams([
    {
      path: IDEMPOTENCY_KEY,
      expected: `the key of the header ${HEADER}`,
      received: 'another one',
      message: `${IDEMPOTENCY_KEY}: expected the key of the header ${HEADER}, got another key; send it in one place`,
    },
  ]);
}
