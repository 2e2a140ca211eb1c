import { ServiceError } from '@switchyard/contracts';

/** A value that a query can compare: any JSON value except objects and arrays. */
export type Scalar = string | number | boolean | null;

export function isScalar(value: unknown): value is Scalar {
  return value === null || typeof value === 'string' || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value));
}

/** Encodes the sort values at the end of a page. A cursor is valid only for the same order. */
export function encodeCursor(order: string, position: readonly Scalar[]): string {
  return Buffer.from(JSON.stringify([order, ...position])).toString('base64url');
}

/** Throws INVALID_ARGUMENT for an invalid cursor, because cursors come from clients. */
export function decodeCursor(cursor: string, order: string, length: number): Scalar[] {
  const [first, ...position] = parse(cursor);
  if (first !== order || position.length !== length || !position.every(isScalar)) throw invalidCursor();
  return position;
}

function parse(cursor: string): unknown[] {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (Array.isArray(parsed)) return parsed;
  } catch (cause) {
    throw invalidCursor(cause);
  }
  throw invalidCursor();
}

function invalidCursor(cause?: unknown): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', 'Invalid params: cursor: expected the cursor of the previous page', {
    details: { reason: 'BAD_CURSOR' },
    ...(cause === undefined ? {} : { cause }),
  });
}
