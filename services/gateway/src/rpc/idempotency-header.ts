import { IDEMPOTENCY_KEY, IdempotencyKey, invalidParams, type Callable, type ServiceError } from '@switchyard/contracts';
import type { Fault } from './json-rpc-responses.ts';

const HEADER = 'Idempotency-Key';

/** One key cannot say which of several calls is meant. */
export const KEY_OF_A_BATCH: Fault = {
  number: -32600,
  code: 'INVALID_ARGUMENT',
  message: `Invalid Request: the header ${HEADER} is of one call; in a batch give each call its own params.${IDEMPOTENCY_KEY}`,
};

interface Called {
  method: string;
  /** Left out of what the edge answers itself. */
  callable: Callable | undefined;
}

/**
 * The params with the key of the header among them, which the owner of the method keeps. Throws what the client is told where nobody
 * keeps one, or the params name another.
 */
export function withKey({ method, callable }: Called, params: Uint8Array, key: string): Uint8Array {
  if (!callable?.keyed) throw takesNone(method, callable);
  if (!IdempotencyKey.safeParse(key).success) throw wrongKey();
  const own = Buffer.from(params.buffer, params.byteOffset, params.length);
  requireSame(own, key);
  const text = `{${JSON.stringify(IDEMPOTENCY_KEY)}:${JSON.stringify(key)}`;
  const isEmpty = own.subarray(1, -1).every((byte) => SPACES.has(byte));
  return Buffer.concat([Buffer.from(isEmpty ? text : `${text},`), own.subarray(1)]);
}

const SPACES: ReadonlySet<number> = new Set(Buffer.from(' \t\r\n'));

function takesNone(method: string, callable: Callable | undefined): ServiceError {
  const why = callable?.idempotent === false ? 'a call that is made again is another one' : 'to call it twice is to call it once';
  return invalidParams([
    {
      path: IDEMPOTENCY_KEY,
      expected: 'no key',
      received: `the header ${HEADER}`,
      message: `${method} takes no idempotency key (${why}); leave the header ${HEADER} out`,
    },
  ]);
}

function wrongKey(): ServiceError {
  const { description: expected = 'a key' } = IdempotencyKey;
  return invalidParams([
    { path: IDEMPOTENCY_KEY, expected, received: 'another string', message: `${HEADER}: expected ${expected}, got another string` },
  ]);
}

/** Looked into only where a key may stand in them: params are not parsed on their way. */
function requireSame(params: Buffer, key: string): void {
  if (!params.includes(`"${IDEMPOTENCY_KEY}"`)) return;
  const given = JSON.parse(params.toString()) as Record<string, unknown>;
  if (!(IDEMPOTENCY_KEY in given) || given[IDEMPOTENCY_KEY] === key) return;
  throw invalidParams([
    {
      path: IDEMPOTENCY_KEY,
      expected: `the key of the header ${HEADER}`,
      received: 'another one',
      message: `${IDEMPOTENCY_KEY}: expected the key of the header ${HEADER}, got another one; send it in one place`,
    },
  ]);
}
