import assert from 'node:assert/strict';
import type { SessionDocument } from '../model/session-document.ts';
import { type TurnDocument, hasEnded } from '../model/turn-document.ts';
import { parseEntry } from '../model/queue-entry.ts';

type Claim = (leases: boolean, description: string) => void;

/** Observes which turns have merged which, and checks their ends. */
export function createJoins(claim: Claim) {
  const queues = new Map<string, readonly string[]>();
  const mergedByLead = new Map<string, readonly string[]>();
  /** Turns that ended as their lead did. */
  const shared = new Set<string>();
  const over = new Set<string>();
  const stopped = new Set<string>();
  /** Turns merged by a cancelled lead. Effects for them may happen once more. */
  const freed: string[] = [];

  function hears({ turnId, sessionKey }: TurnDocument, others: readonly string[]): void {
    mergedByLead.set(turnId, others);
    const queue = (queues.get(sessionKey) ?? []).map((entry) => parseEntry(entry).turnId);
    const last = Math.max(...others.map((other) => queue.indexOf(other)));
    const passed = queue.slice(0, last + 1).filter((one) => one !== turnId && !others.includes(one) && !over.has(one));
    claim(passed.length === 0, `${turnId} merged turns behind ${passed.join()}`);
  }

  return {
    seen: ({ key, queue }: SessionDocument) => void queues.set(key, queue),
    turnChanged(before: TurnDocument | undefined, after: TurnDocument): void {
      const { turnId, state, merged = [] } = after;
      if (merged.length > (before?.merged ?? []).length)
        hears(
          after,
          merged.map((other) => other.turnId),
        );
      if (!hasEnded(after)) return;
      over.add(turnId);
      if (state === 'cancelled') {
        stopped.add(turnId);
        freed.push(...merged.map((other) => other.turnId));
      }
      const lead = [...mergedByLead].find(([id, others]) => over.has(id) && !stopped.has(id) && others.includes(turnId))?.[0];
      if (lead !== undefined && state !== 'cancelled') shared.add(turnId);
      if (after.mergedInto !== undefined)
        claim(after.mergedInto === lead, `${turnId} was answered by ${after.mergedInto}, and not by ${lead}`);
    },
    heardBy: (turnId: string): readonly string[] => mergedByLead.get(turnId) ?? [],
    ended: (turnId: string): boolean => shared.has(turnId),
    /** Number of additional effects allowed for a turn. */
    freed: (turn: string): number => freed.filter((id) => id.startsWith(`${turn}x`) || id.startsWith(`${turn}again`)).length,
    checkEnd(turns: readonly TurnDocument[]): void {
      for (const { turnId, failure, startedAt } of turns) {
        const reason = failure?.details?.['reason'];
        if (reason !== 'TURN_DROPPED' && reason !== 'TURN_SUMMARIZED') continue;
        assert.equal(startedAt, undefined, `${turnId} had started and was dropped`);
        const toldOf = turns.some(({ dropped = [] }) => dropped.some(({ lines }) => lines.some((line) => line.turnId === turnId)));
        assert.equal(toldOf, reason === 'TURN_SUMMARIZED', `dropped lines of ${turnId}`);
      }
      for (const { turnId, state, merged = [] } of turns) {
        if (state === 'cancelled') continue;
        for (const other of turns.filter((one) => merged.some((named) => named.turnId === one.turnId))) {
          assert.ok(other.state === state || other.state === 'cancelled', `${other.turnId} is ${other.state}, and ${turnId} is ${state}`);
          assert.equal(other.seq, undefined, `${other.turnId} has a number besides ${turnId}`);
        }
      }
    },
  };
}
