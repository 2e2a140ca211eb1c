import { MAX, maxKeys } from '@switchyard/contracts';
import { z } from 'zod';
import type { RateLimits } from './rate-limits.ts';

/** Accepted requests by window and key. */
export type RateLimitCounts = Record<keyof RateLimits, Record<string, number>>;

/** Connects the local counters to a sync transport. */
export interface CounterReplication {
  /** Takes the counts not yet sent to the other gateways; undefined when there are none. */
  takeDelta: () => RateLimitCounts | undefined;
  applyRemote: (counts: RateLimitCounts, ageMs: number) => void;
}

/** A transport that exchanges counts with the other gateways. */
export interface RateLimitSync extends Disposable {
  /** Schedules a transmission of pending counts. */
  schedule: () => void;
}

/** Interval at which a gateway sends its counts. */
export const SYNC_INTERVAL_MS = 50;
/** Keys per window in one message; the remaining keys follow in the next message. */
const MAX_KEYS_PER_MESSAGE = 500;

const Amounts = z.record(z.string().max(MAX.line), z.int().positive()).check(maxKeys(MAX_KEYS_PER_MESSAGE));
/** Earlier versions send no `toolCalls`. */
export const RateLimitMessage = z.object({ requests: Amounts, messages: Amounts, authFailures: Amounts, toolCalls: Amounts.default({}) });

/** Parses the message of another gateway; undefined when its version uses another format. */
export function parseCounts(text: string): RateLimitCounts | undefined {
  try {
    return RateLimitMessage.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Counts not yet sent to the other gateways. */
export interface PendingCounts {
  add(limit: keyof RateLimits, key: string, amount: number): void;
  /** Takes the counts for one message; undefined when there are none. */
  takeDelta(): RateLimitCounts | undefined;
}

export function createPendingCounts(): PendingCounts {
  const pending = { requests: createCounter(), messages: createCounter(), authFailures: createCounter(), toolCalls: createCounter() };
  return {
    add(limit, key, amount) {
      const amounts = pending[limit];
      amounts.set(key, (amounts.get(key) ?? 0) + amount);
    },
    takeDelta() {
      const { requests, messages, authFailures, toolCalls } = pending;
      if (requests.size + messages.size + authFailures.size + toolCalls.size === 0) return undefined;
      return {
        requests: takeEntries(requests),
        messages: takeEntries(messages),
        authFailures: takeEntries(authFailures),
        toolCalls: takeEntries(toolCalls),
      };
    },
  };
}

function createCounter(): Map<string, number> {
  return new Map();
}

function takeEntries(amounts: Map<string, number>): Record<string, number> {
  const entries: [string, number][] = [];
  for (const entry of amounts) {
    if (entries.length === MAX_KEYS_PER_MESSAGE) break;
    entries.push(entry);
    amounts.delete(entry[0]);
  }
  return Object.fromEntries(entries);
}
