import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a process of sessions is started without, to see whether the checker sees it. */
export const SABOTAGES = ['fencing', 'dedupe', 'sweeper', 'order'] as const;
export type Sabotage = (typeof SABOTAGES)[number];

interface Way {
  /** What is changed in the source of the service as it is loaded. */
  patches: readonly { file: string; from: string; to: string }[];
}

/** The rest is done by the witness in front of the store. */
export const SABOTAGE: Readonly<Record<Sabotage | 'none', Way>> = {
  none: { patches: [] },
  // A runner that was stopped is told by its own clock, before any write could miss.
  fencing: {
    patches: [{ file: 'sessions/src/turns/hold.ts', from: 'clock.now() - state.renewedAt >= timing.heldMs', to: 'false' }],
  },
  dedupe: { patches: [] },
  sweeper: { patches: [] },
  order: { patches: [] },
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
