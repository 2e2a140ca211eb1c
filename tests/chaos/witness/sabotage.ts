import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A guard that a process runs without, to test the checker. */
export const SABOTAGES = ['fencing', 'dedupe', 'sweeper', 'order', 'tools', 'places'] as const;
export type Sabotage = (typeof SABOTAGES)[number];

interface Way {
  /** Replacements in the source of a service when it is loaded. */
  patches: readonly { file: string; from: string; to: string }[];
}

/** The wrapper of the store implements the others. */
export const SABOTAGE: Readonly<Record<Sabotage | 'none', Way>> = {
  none: { patches: [] },
  // A resumed runner notices the lost lease by its clock before a write could fail.
  fencing: {
    patches: [{ file: 'sessions/src/queue/session-lease.ts', from: 'clock.now() - state.renewedAt >= timing.giveUpMs', to: 'false' }],
  },
  dedupe: { patches: [] },
  sweeper: { patches: [] },
  order: { patches: [] },
  // Interrupted tool calls are repeated.
  tools: {
    patches: [
      {
        file: 'sessions/src/agent-loop/tool-calls.ts',
        from: 'first.callId && !tools.isIdempotent(first.name);',
        to: 'first.callId && false;',
      },
    ],
  },
  // A client that reconnects misses some events.
  places: { patches: [{ file: 'gateway/src/events/event-reader.ts', from: 'next = after.seq + 1;', to: 'next = after.seq + 3;' }] },
};

export function witnessDirectory(): string {
  return process.env['CHAOS_WITNESS'] ?? '';
}

/** The guard to remove, as written by the test before the process started. */
export function readSabotage(): Sabotage | undefined {
  const file = join(witnessDirectory(), 'sabotage');
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  return SABOTAGES.find((one) => one === text);
}
