import assert from 'node:assert/strict';
import type { WorkDocument } from '@switchyard/work';
import type { Process } from './simulation.ts';
import type { Watching } from './simulated-store.ts';

/** A work document as the simulated store keeps it. `writtenUnder` is the fence of the holder that wrote last. */
export type JudgedDocument = WorkDocument & Record<string, unknown> & { tenant: string; writtenUnder?: number };

export interface JudgedRoom {
  name: string;
  max: number;
}

/** Checks the guarantees of `@switchyard/work` for each write, whatever the work does. */
export interface WorkJudge {
  readonly watching: Watching;
  /** An `add` was called, and later answered. */
  adding(key: string, dueAt: number): void;
  accepted(key: string): void;
  /** A wake that only one of several callers may win was answered. */
  woke(key: string): void;
  /** A holder does something outside. */
  acts(key: string, fence: number, process: Process): void;
  /** Throws the first violation. */
  check(): void;
  checkEnd(): void;
  /** Number of starts, ends and parkings, so that a test can require that something happened. */
  readonly seen: { starts: number; takeovers: number; ends: number; parked: number; acts: number };
}

const ENDED = ['done', 'failed', 'cancelled'];

export interface WorkJudgeOptions {
  collection: string;
  key: string;
  getRoom: (document: JudgedDocument) => JudgedRoom | undefined;
  now: () => number;
}

export function createWorkJudge({ collection, key, getRoom, now }: WorkJudgeOptions): WorkJudge {
  const documents = new Map<string, JudgedDocument>();
  /** Positions in the order of calls and answers, and the time of the call. */
  const added = new Map<string, { called: number; answered?: number; at: number; dueAt: number }>();
  const startedOnce = new Set<string>();
  const wakesAtStart = new Map<string, number>();
  const ends = new Map<string, number>();
  /** The number of parkings, and of wakes that were won. */
  const [parkings, wins] = [new Map<string, number>(), new Map<string, number>()];
  const seen = { starts: 0, takeovers: 0, ends: 0, parked: 0, acts: 0 };
  let step = 0;
  let violation: Error | undefined;

  function claim(holds: boolean, description: string): void {
    if (!holds) violation ??= new Error(description);
  }

  function started(id: string, document: JudgedDocument): void {
    seen.starts += 1;
    const room = getRoom(document);
    if (!room) return;
    const others = [...documents].filter(([other, { state }]) => other !== id && !ENDED.includes(state));
    const mates = others.filter(([, other]) => getRoom(other)?.name === room.name);
    const running = mates.filter(([, { state }]) => state === 'running');
    claim(running.length < room.max, `${id} started in ${room.name} while ${running.map(([other]) => other).join()} ran`);
    if (room.max !== 1) return;
    for (const [other, { state, slot }] of mates) {
      claim(slot === undefined, `${id} started in ${room.name} while ${other} held the slot`);
      const [first, second] = [added.get(other), added.get(id)];
      const isBefore = first && second && (first.answered ?? Infinity) < second.called && first.dueAt <= second.at;
      claim(!isBefore || startedOnce.has(other) || state !== 'queued', `${id} started before ${other}, which was accepted first`);
    }
  }

  function changed(id: string, before: JudgedDocument | undefined, after: JudgedDocument): void {
    documents.set(id, after);
    if (!before) return;
    claim(!ENDED.includes(before.state), `${id} changed after its end`);
    claim(after.fence >= before.fence, `${id} was written under an older fence`);
    if (after.writtenUnder !== before.writtenUnder) {
      claim(after.writtenUnder === before.fence, `${id} was written under fence ${after.writtenUnder} instead of ${before.fence}`);
      claim(before.state === 'running', `${id} was written by a holder while it was ${before.state}`);
    }
    if (after.fence > before.fence) {
      if (before.state === 'running') seen.takeovers += 1;
      started(id, after);
      startedOnce.add(id);
      wakesAtStart.set(id, after.wakes);
    }
    if (after.state === 'parked' && before.state === 'running') {
      seen.parked += 1;
      claim(before.wakes === wakesAtStart.get(id), `${id} parked although it was woken while it ran`);
      parkings.set(id, (parkings.get(id) ?? 0) + 1);
    }
    if (ENDED.includes(after.state)) {
      seen.ends += 1;
      claim(after.dueAt === undefined && after.waitRoom === undefined && after.slot === undefined, `${id} ended and is still scheduled`);
    }
  }

  return {
    seen,
    watching: {
      changed(name, before, after) {
        if (name !== collection || !after) return;
        changed(String(after[key]), before as JudgedDocument | undefined, after as unknown as JudgedDocument);
      },
      emitted({ payload }) {
        const id = String(payload);
        ends.set(id, (ends.get(id) ?? 0) + 1);
        claim(ends.get(id) === 1, `${id} ended twice`);
      },
    },
    adding: (id, dueAt) => void added.set(id, added.get(id) ?? { called: (step += 1), at: now(), dueAt }),
    accepted(id) {
      const call = added.get(id);
      if (call) call.answered ??= step += 1;
    },
    woke(id) {
      wins.set(id, (wins.get(id) ?? 0) + 1);
      claim((wins.get(id) ?? 0) <= (parkings.get(id) ?? 0), `${id} was woken more often than it was parked`);
    },
    acts(id, fence, process) {
      seen.acts += 1;
      const current = documents.get(id)?.fence ?? 0;
      claim(fence === current, `${process.name} acts for ${id} under fence ${fence}, although fence ${current} is held`);
    },
    check() {
      if (violation) throw violation;
    },
    checkEnd() {
      for (const [id, { answered }] of added) if (answered !== undefined) assert.ok(documents.has(id), `${id} was accepted and is missing`);
      for (const [id, { state }] of documents) {
        assert.ok(ENDED.includes(state), `${id} is ${state}`);
        assert.equal(ends.get(id) ?? 0, state === 'cancelled' ? 0 : 1, `announced ends of ${id}, which is ${state}`);
      }
    },
  };
}
