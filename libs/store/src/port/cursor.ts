import { ServiceError } from '@switchyard/contracts';

/** What a query may compare with: the values JSON has that are not containers. */
export type Scalar = string | number | boolean | null;

export function isScalar(value: unknown): value is Scalar {
  return value === null || typeof value === 'string' || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value));
}

/** Where a page ended: the values of the fields it was ordered by. Fits only the same order. */
export function encodeCursor(order: string, position: readonly Scalar[]): string {
  return Buffer.from(JSON.stringify([order, ...position])).toString('base64url');
}

/** The position again, or INVALID_ARGUMENT: cursors come back from clients. */
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
  return new ServiceError('INVALID_ARGUMENT', 'Invalid params: cursor: expected the cursor of the page before, got another', {
    details: { reason: 'BAD_CURSOR' },
    ...(cause === undefined ? {} : { cause }),
  });
}
