import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Root } from '../../model/session-document.ts';
import { countWithin } from './compaction-limits.ts';
import {
  getAnchors,
  coveredTo,
  fit,
  folded,
  looseChars,
  nextFold,
  getSize,
  type Fold,
  type Loose,
  type TreeLimits,
} from './summary-tree.ts';

/** A growing conversation with all summaries made of it. */
interface Grown {
  roots: readonly Root[];
  turns: readonly Loose[];
  /** Inputs of each summary. */
  made: ReadonlyMap<string, Fold>;
}

const turn = fc.record({ messages: fc.integer({ min: 2, max: 6 }), chars: fc.integer({ min: 0, max: 5_000 }) });
const limits: fc.Arbitrary<TreeLimits> = fc.record({
  freshTurns: fc.integer({ min: 1, max: 10 }),
  leastMessages: fc.integer({ min: 1, max: 12 }),
  chunkChars: fc.integer({ min: 1, max: 20_000 }),
  fanout: fc.integer({ min: 2, max: 6 }),
  depth: fc.constantFrom(0, 1, 2, 10, Infinity),
});

interface Keeping {
  anchors: { turns: number; chars: number };
  /** Characters of the newest messages that stay verbatim, and the number of turns in the prompt. */
  keep: { chars: number; recentTurns: number };
}

const limitsAndAnchors = fc
  .record({
    limits,
    anchors: fc.record({ turns: fc.integer({ min: 0, max: 10 }), chars: fc.integer({ min: 0, max: 20_000 }) }),
    keep: fc.record({ chars: fc.integer({ min: 0, max: 40_000 }), recentTurns: fc.integer({ min: 3, max: 100 }) }),
  })
  .map(({ limits: options, anchors, keep }) => ({ ...options, anchors, keep }));

/** Adds the turns one by one and compacts the conversation while it is larger than `most`. Summaries have random lengths. */
function grow(texts: readonly Omit<Loose, 'seq'>[], given: TreeLimits & Partial<Keeping>, most: number): Grown {
  const made = new Map<string, Fold>();
  let roots: Root[] = [];
  const turns: Loose[] = [];
  for (const one of texts) {
    turns.push({ ...one, seq: turns.length + 1 });
    const chars = turns.reduce((sum, each) => sum + each.chars, 0);
    for (;;) {
      const loose = getLoose(roots, turns);
      const anchors = roots.length === 0 && given.anchors ? getAnchors(loose, given.anchors) : 0;
      const before = roots.length === 0 ? loose.slice(0, anchors) : getAnchored(roots, turns);
      const remaining = before.reduce((rest, turn) => rest - turn.chars, looseChars({ roots, chars }));
      const recent = given.keep && { loose: remaining, chars: given.keep.chars, lastSummarizable: turns.length - given.keep.recentTurns };
      const fold = getSize({ roots, chars }) > most ? nextFold(roots, loose.slice(anchors), { ...given, recent }) : undefined;
      if (!fold) break;
      const id = `s${made.size}`;
      made.set(id, fold);
      roots = folded(roots, fold, { id, size: (made.size * 37) % 700 }).roots;
    }
  }
  return { roots, turns, made };
}

function getLoose(roots: readonly Root[], turns: readonly Loose[]): Loose[] {
  return turns.filter(({ seq }) => seq > coveredTo(roots));
}

/** Returns the turns before all summaries. */
function getAnchored([root]: readonly Root[], turns: readonly Loose[]): Loose[] {
  return turns.filter(({ seq }) => root !== undefined && seq < root.from);
}

/** Returns the sequence numbers of all turns behind a summary. */
function expand(id: string, made: Grown['made']): number[] {
  const fold = made.get(id);
  return fold?.roots ? fold.roots.flatMap((root) => expand(root.id, made)) : (fold?.turns ?? []).map(({ seq }) => seq);
}

test('expanding all summaries returns every turn once and in order, for any history and limits', () => {
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 120 }), limitsAndAnchors, fc.integer({ min: 0, max: 50_000 }), (said, given, most) => {
      const { roots, turns, made } = grow(said, given, most);
      const anchored = getAnchored(roots, turns);
      assert.ok(anchored.length <= given.anchors.turns);
      assert.ok(anchored.reduce((sum, one) => sum + one.chars, 0) <= given.anchors.chars);
      const all = [
        ...anchored.map(({ seq }) => seq),
        ...roots.flatMap(({ id }) => expand(id, made)),
        ...getLoose(roots, turns).map(({ seq }) => seq),
      ];
      assert.deepEqual(
        all,
        turns.map(({ seq }) => seq),
      );
      const messages =
        roots.reduce((sum, root) => sum + root.messages, 0) +
        [...anchored, ...getLoose(roots, turns)].reduce((sum, one) => sum + one.messages, 0);
      assert.equal(
        messages,
        turns.reduce((sum, one) => sum + one.messages, 0),
      );
    }),
    { numRuns: 500 },
  );
});

test('fit stays within the available room, keeps the newest exchanges complete and drops the oldest parts first', () => {
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 80 }), limitsAndAnchors, fc.integer({ min: 0, max: 60_000 }), (said, given, room) => {
      const { roots, turns } = grow(said, given, 20_000);
      const exchanges = getLoose(roots, turns).toReversed();
      const anchorChars = getAnchored(roots, turns).reduce((sum, { chars }) => sum + chars, 0);
      const recent = countWithin(
        exchanges.map(({ chars }) => chars),
        given.keep.chars,
      );
      const freshTurns = Math.max(given.freshTurns, recent);
      const kept = fit({ summaries: roots, exchanges, getChars: ({ chars }) => chars, anchorChars, freshTurns, room });
      const [promptMessages, summaries] = [exchanges.slice(0, kept.exchanges), roots.slice(roots.length - kept.summaries)];
      const size =
        promptMessages.reduce((sum, { chars }) => sum + chars, 0) +
        summaries.reduce((sum, root) => sum + root.size, 0) +
        (kept.anchored ? anchorChars : 0);
      assert.ok(size <= room, `${size} of ${room}`);
      const fresh = exchanges.slice(0, freshTurns);
      let left = room;
      const fits = fresh.findIndex(({ chars }) => (left -= chars) < 0);
      assert.ok(promptMessages.length >= (fits === -1 ? fresh.length : fits), 'the last exchanges come first');
      if (fits !== -1) assert.deepEqual([summaries.length, kept.anchored], [0, false], 'nothing takes the place of a fresh exchange');
    }),
    { numRuns: 500 },
  );
});

test('never folds the last turns and limits the number of summaries per depth', () => {
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 150 }), limits, (said, given) => {
      const { roots, turns } = grow(said, given, 0);
      assert.ok(coveredTo(roots) <= Math.max(0, turns.length - given.freshTurns));
      const depths = roots.map(({ depth }) => depth);
      for (const depth of depths) assert.ok(depths.filter((one) => one === depth).length < given.fanout);
    }),
    { numRuns: 200 },
  );
});

test('never folds the newest messages within keep.chars unless they are outside the prompt', () => {
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 120 }), limitsAndAnchors, (said, given) => {
      const { roots, turns } = grow(said, given, 0);
      const covered = turns[coveredTo(roots) - 1];
      if (!covered) return;
      const after = turns.filter(({ seq }) => seq > covered.seq).reduce((sum, { chars }) => sum + chars, 0);
      assert.ok(after >= given.keep.chars || covered.seq <= turns.length - given.keep.recentTurns, `${after} of ${given.keep.chars}`);
    }),
    { numRuns: 300 },
  );
});

test('finds nothing to fold in a conversation that is already compacted', () => {
  const given = { freshTurns: 2, leastMessages: 2, chunkChars: 100, fanout: 4, depth: 0 };
  const { roots, turns } = grow(
    Array.from({ length: 20 }, () => ({ messages: 2, chars: 50 })),
    given,
    0,
  );
  assert.equal(nextFold(roots, getLoose(roots, turns), given), undefined);
});

test('folds summaries before turns up to the maximum depth, and deeper only without turns left or with 100 summaries', () => {
  const root = (n: number): Root => ({ id: `s${n}`, depth: 0, from: n, to: n, messages: 2, chars: 10, size: 5 });
  const roots = (count: number): Root[] => Array.from({ length: count }, (_, n) => root(n + 1));
  const loose = [{ seq: 500, messages: 2, chars: 10 }];
  const foldsRoots = (depth: number, count: number, turns: readonly Loose[]): boolean =>
    nextFold(roots(count), turns, { freshTurns: 0, leastMessages: 1, chunkChars: 100, fanout: 4, depth })?.roots !== undefined;
  assert.deepEqual([foldsRoots(0, 4, loose), foldsRoots(1, 4, loose)], [false, true]);
  assert.deepEqual([foldsRoots(0, 4, []), foldsRoots(0, 99, loose), foldsRoots(0, 100, loose)], [true, false, true]);
});
