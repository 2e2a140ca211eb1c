import assert from 'node:assert/strict';
import type { Root, SessionDocument } from '../model/session-document.ts';
import type { SummaryDocument } from '../model/summary-document.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import { countMessages } from '../model/turn-messages.ts';

/** Observes the summary trees of conversations. */
export interface Trees {
  summaryChanged(before: SummaryDocument | undefined, after: SummaryDocument | undefined): void;
  sessionChanged(before: SessionDocument | undefined, after: SessionDocument): void;
  /** Checks that all summaries, down to the turns, and the turns after them form the whole history. */
  checkEnd(session: SessionDocument, turns: readonly TurnDocument[]): void;
  /** Number of changed trees. */
  grown: number;
}

export function createTrees(claim: (leases: boolean, description: string) => void): Trees {
  const summaries = new Map<string, SummaryDocument>();

  function expand({ id, from, to }: Pick<Root, 'id' | 'from' | 'to'>): [number, number][] {
    const summary = summaries.get(id);
    if (!summary || summary.children.length === 0) return [[from, to]];
    return summary.children.flatMap((child) => expand(summaries.get(child) ?? { id: child, from: -1, to: -1 }));
  }

  const trees: Trees = {
    grown: 0,
    summaryChanged(before, after) {
      if (before && after) claim(before.text === after.text && before.to === after.to, `${after.id} changed`);
      if (after) summaries.set(after.id, after);
    },
    sessionChanged(before, after) {
      const [was = [], is = []] = [before?.roots, after.roots];
      if (before?.epoch !== after.epoch) return claim(is.length === 0, `${after.key} begins with summaries`);
      if (JSON.stringify(was) === JSON.stringify(is)) return;
      trees.grown += 1;
      for (const { id } of is) claim(summaries.get(id)?.epoch === after.epoch, `${after.key} has a summary ${id} of another conversation`);
      claim((was.at(-1)?.to ?? 0) <= (is.at(-1)?.to ?? 0), `the summaries of ${after.key} stand for less than before`);
      claim(was.length === 0 || was[0]?.from === is[0]?.from, `the summaries of ${after.key} begin later than before`);
      claim((is.at(-1)?.to ?? 0) < after.lastSeq, `the last turn of ${after.key} was summarized`);
    },
    checkEnd({ key, epoch, lastSeq, roots = [] }, turns) {
      const history = turns.filter(
        (turn) => turn.sessionKey === key && turn.epoch === epoch && turn.seq !== undefined && turn.seq <= lastSeq,
      );
      const seqs = history.map(({ seq = 0 }) => seq).toSorted((a, b) => a - b);
      const covered = roots.flatMap(expand).flatMap(([from, to]) => seqs.filter((seq) => seq >= from && seq <= to));
      const loose = seqs.filter((seq) => seq > (roots.at(-1)?.to ?? 0));
      const [first] = roots;
      const anchors = first ? seqs.filter((seq) => seq < first.from) : [];
      assert.ok(anchors.length <= 2, `${anchors.length} turns of ${key} stand in front of its summaries`);
      assert.deepEqual([...anchors, ...covered, ...loose], seqs, `what ${key} says in summaries and turns`);
      for (const root of roots) {
        const under = history.filter(({ seq = 0 }) => seq >= root.from && seq <= root.to);
        const messages = under.reduce((sum, turn) => sum + countMessages(turn), 0);
        assert.equal(root.messages, messages, `what ${root.id} of ${key} stands for`);
      }
    },
  };
  return trees;
}
