import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a process is started without, to see whether the checker sees it. */
export const SABOTAGES = ['fencing', 'dedupe', 'sweeper', 'order', 'tools', 'places'] as const;
export type Sabotage = (typeof SABOTAGES)[number];

interface Way {
  /** What is changed in the source of a service as it is loaded. */
  patches: readonly { file: string; from: string; to: string }[];
}

/** The rest is done by the witness in front of the store. */
export const SABOTAGE: Readonly<Record<Sabotage | 'none', Way>> = {
  none: { patches: [] },
  // A runner that was stopped is told by its own clock, before any write could miss.
  fencing: {
    patches: [{ file: 'sessions/src/queue/session-lease.ts', from: 'clock.now() - state.renewedAt >= timing.heldMs', to: 'false' }],
  },
  dedupe: { patches: [] },
  sweeper: { patches: [] },
  order: { patches: [] },
  // Whatever was under way is made again.
  tools: { patches: [{ file: 'sessions/src/agent-loop/tool-calls.ts', from: ' && !tools.repeatable(first.name)', to: ' && false' }] },
  // Who comes back for events gets some of what was missed.
  places: { patches: [{ file: 'gateway/src/events/event-reader.ts', from: 'next = after.seq + 1;', to: 'next = after.seq + 3;' }] },
};

export function witnessDirectory(): string {
  return process.env['CHAOS_WITNESS'] ?? '';
}

/** As the rig has it written down at the time of a start. */
export function readSabotage(): Sabotage | undefined {
  const file = join(witnessDirectory(), 'sabotage');
  const said = existsSync(file) ? readFileSync(file, 'utf8') : '';
  return SABOTAGES.find((one) => one === said);
}
