import { ServiceError } from '@switchyard/contracts';
import { MAX_TTL_MS, MAX_VALUE_BYTES, type Rate } from './cache.ts';

/** Throws for invalid arguments before anything is counted or stored. */
export function checkTake({ max, windowMs }: Rate, amount: number): void {
  checkWhole('the max of a rate', max, { from: 0 });
  checkTtl('the windowMs of a rate', windowMs);
  checkWhole('an amount', amount, { from: 1 });
}

export function checkAdd(amount: number, ttlMs: number): void {
  checkWhole('an amount', amount, { from: Number.MIN_SAFE_INTEGER });
  checkTtl('the ttlMs of a counter', ttlMs);
}

export function checkSet(value: string, ttlMs: number): void {
  checkTtl('the ttlMs of a value', ttlMs);
  checkSize('a value', value);
}

export function checkBoard(keepMs: number): void {
  checkTtl('the keepMs of a board', keepMs);
}

export function checkNote(note: string): void {
  checkSize('a note', note);
}

function checkSize(description: string, text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_VALUE_BYTES) {
    throw new ServiceError('OUT_OF_RANGE', `${description} in the cache must have at most ${MAX_VALUE_BYTES} bytes, got ${bytes}`);
  }
}

function checkTtl(what: string, ttlMs: number): void {
  checkWhole(what, ttlMs, { from: 1, to: MAX_TTL_MS });
}

function checkWhole(what: string, number: number, { from, to = Number.MAX_SAFE_INTEGER }: { from: number; to?: number }): void {
  if (Number.isSafeInteger(number) && number >= from && number <= to) return;
  throw new ServiceError('INTERNAL', `${what} must be a whole number from ${from} to ${to}, got ${number}`);
}
