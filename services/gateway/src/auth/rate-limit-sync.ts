import { MAX, maxKeys } from '@switchyard/contracts';
import { z } from 'zod';
import type { Limits } from './rate-limits.ts';

/** How much was let through, by window and key. */
export type Counts = Record<keyof Limits, Record<string, number>>;

/** What a way to tell the others is given. */
export interface Told {
  /** Takes what the others have not been told yet; undefined when there is nothing. */
  draw: () => Counts | undefined;
  hear: (counts: Counts, ageMs: number) => void;
}

/** One way to tell the others. */
export interface Telling extends Disposable {
  /** There is something to tell. */
  due: () => void;
}

/** How long a replica keeps to itself what it let through. */
export const TELL_EVERY_MS = 50;
/** Of one window, at once; the rest comes with the next. */
const MOST_KEYS = 500;

const Amounts = z.record(z.string().max(MAX.line), z.int().positive()).check(maxKeys(MOST_KEYS));
/** What an earlier version does not write is nothing. */
export const Written = z.object({ requests: Amounts, messages: Amounts, authFailures: Amounts, toolCalls: Amounts.default({}) });

/** What another gateway wrote; undefined where it is of a version that writes something else. */
export function readCounts(text: string): Counts | undefined {
  try {
    return Written.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** What was let through here, and the others have not been told. */
export interface Untold {
  add(limit: keyof Limits, key: string, amount: number): void;
  /** Takes out as much as is told at once; undefined when there is nothing. */
  draw(): Counts | undefined;
}

export function createUntold(): Untold {
  const untold = { requests: nothing(), messages: nothing(), authFailures: nothing(), toolCalls: nothing() };
  return {
    add(limit, key, amount) {
      const amounts = untold[limit];
      amounts.set(key, (amounts.get(key) ?? 0) + amount);
    },
    draw() {
      const { requests, messages, authFailures, toolCalls } = untold;
      if (requests.size + messages.size + authFailures.size + toolCalls.size === 0) return undefined;
      return { requests: take(requests), messages: take(messages), authFailures: take(authFailures), toolCalls: take(toolCalls) };
    },
  };
}

function nothing(): Map<string, number> {
  return new Map();
}

function take(amounts: Map<string, number>): Record<string, number> {
  const taken: [string, number][] = [];
  for (const entry of amounts) {
    if (taken.length === MOST_KEYS) break;
    taken.push(entry);
    amounts.delete(entry[0]);
  }
  return Object.fromEntries(taken);
}
