import type { Root } from '../../model/session-document.ts';

/** A turn that no summary stands for yet. */
export interface Loose {
  seq: number;
  messages: number;
  chars: number;
}

export interface TreeLimits {
  /** The last turns are never folded. */
  freshTurns: number;
  /** Nor those that are so long in all, as far as they are told. */
  recent?: Recent | undefined;
  /** Fewer messages are not worth a summary. */
  leastMessages: number;
  /** What one summary of turns stands for at most, unless one turn has more. */
  chunkChars: number;
  /** So many summaries of one depth are folded into one. */
  fanout: number;
  /** Summaries that would become one deeper than this are folded only where no turns are left to fold. */
  depth: number;
}

/** What is kept word by word of what was said last. */
export interface Recent {
  /** How long all is that no summary stands for. */
  loose: number;
  /** So much of it stays. */
  chars: number;
  /** Turns up to this number are not told word by word in any case. */
  untold: number;
}

/** So many summaries may stand beside each other before they are folded all the same: a session's document names them. */
const MOST_ROOTS = 100;

/** What becomes one summary next: turns, or summaries of one depth. */
export type Fold = { turns: readonly Loose[]; roots?: undefined } | { roots: readonly Root[]; turns?: undefined };

/** Whatever is oldest: summaries that are not deep, then turns, then any summaries. Undefined where there is nothing to fold. */
export function nextFold(roots: readonly Root[], loose: readonly Loose[], limits: TreeLimits): Fold | undefined {
  return firstOfAll(roots, limits) ?? foldOfTurns(loose, limits) ?? foldOfRoots(roots, limits.fanout);
}

/** Summaries that are folded before any turn is. */
export function firstOfAll(roots: readonly Root[], { fanout, depth }: TreeLimits): Fold | undefined {
  return foldOfRoots(roots, fanout, roots.length < MOST_ROOTS ? depth : Infinity);
}

function foldOfTurns(loose: readonly Loose[], limits: TreeLimits): Fold | undefined {
  const old = beforeRecent(loose.slice(0, Math.max(0, loose.length - limits.freshTurns)), limits.recent);
  let [count, chars, messages] = [0, 0, 0];
  for (const turn of old) {
    if (count > 0 && chars + turn.chars > limits.chunkChars) break;
    count += 1;
    chars += turn.chars;
    messages += turn.messages;
  }
  return messages > 0 && messages >= limits.leastMessages ? { turns: old.slice(0, count) } : undefined;
}

/** What may be folded so that enough of what was said last stays. */
function beforeRecent(old: readonly Loose[], recent: Recent | undefined): readonly Loose[] {
  if (!recent) return old;
  let left = recent.loose;
  const cut = old.findIndex(({ seq, chars }) => (left -= chars) < recent.chars && seq > recent.untold);
  return cut === -1 ? old : old.slice(0, cut);
}

/** The first neighbours of one depth, as many as make one that is no deeper than that. */
function foldOfRoots(roots: readonly Root[], fanout: number, deepest = Infinity): Fold | undefined {
  for (const [at, { depth }] of roots.entries()) {
    const group = roots.slice(at, at + fanout);
    if (depth < deepest && group.length === fanout && group.every((root) => root.depth === depth)) return { roots: group };
  }
  return undefined;
}

/** The tree once the fold has its summary. What it stood for is all there, in order. */
export function folded(roots: readonly Root[], fold: Fold, { id, size }: Pick<Root, 'id' | 'size'>): { root: Root; roots: Root[] } {
  const parts = fold.roots ?? fold.turns.map(({ seq, ...turn }) => ({ ...turn, from: seq, to: seq }));
  const sum = (of: 'messages' | 'chars'): number => parts.reduce((total, part) => total + part[of], 0);
  const root = {
    id,
    depth: fold.roots ? (fold.roots[0]?.depth ?? 0) + 1 : 0,
    from: parts[0]?.from ?? 0,
    to: parts.at(-1)?.to ?? 0,
    messages: sum('messages'),
    chars: sum('chars'),
    size,
  };
  if (!fold.roots) return { root, roots: [...roots, root] };
  const at = roots.indexOf(fold.roots[0] as Root);
  return { root, roots: roots.toSpliced(at, fold.roots.length, root) };
}

/** The number of the last turn that a summary stands for. */
export function coveredTo(roots: readonly Root[]): number {
  return roots.at(-1)?.to ?? 0;
}

/** How many of the first turns of a conversation stay in front of its summaries, so that what is told begins the same each time. */
export function anchorsOf(loose: readonly Loose[], { turns, chars }: { turns: number; chars: number }): number {
  let left = chars;
  const cut = loose.slice(0, turns).findIndex((turn) => (left -= turn.chars) < 0);
  return cut === -1 ? Math.min(turns, loose.length) : cut;
}

/** How much the whole of it is: the summaries, and what no summary stands for. */
export function sizeOf(conversation: Conversation): number {
  return (conversation.roots ?? []).reduce((sum, { size }) => sum + size, looseChars(conversation));
}

/** How long all is that no summary stands for. */
export function looseChars({ roots = [], chars = 0 }: Conversation): number {
  return Math.max(
    0,
    roots.reduce((left, root) => left - root.chars, chars),
  );
}

interface Conversation {
  roots?: readonly Root[] | undefined;
  chars?: number | undefined;
}

export interface Fitting<E> {
  /** Oldest first. */
  summaries: readonly { size: number }[];
  /** What was said since, newest first. */
  exchanges: readonly E[];
  charsOf: (exchange: E) => number;
  /** How long the first exchanges are that stand before all summaries; told together, or not at all. */
  anchorChars?: number;
  /** How many of the last exchanges come before any summary. */
  freshTurns: number;
  room: number;
}

export interface Fits {
  summaries: number;
  exchanges: number;
  anchored: boolean;
}

/**
 * What a model is told of a conversation, so that it fits: the last exchanges whole, then its beginning, then the summaries, then as many more exchanges as
 * there is room for. Whatever is left out is the oldest of its kind.
 */
export function fit<E>({ summaries, exchanges, charsOf, anchorChars = 0, freshTurns, room }: Fitting<E>): Fits {
  let left = room;
  const take = (sizes: readonly number[]): number => {
    const cut = sizes.findIndex((size) => {
      if (size > left) return true;
      left -= size;
      return false;
    });
    return cut === -1 ? sizes.length : cut;
  };
  const sizes = exchanges.map(charsOf);
  const fresh = take(sizes.slice(0, freshTurns));
  const whole = fresh === Math.min(freshTurns, sizes.length);
  const anchored = whole && take([anchorChars]) === 1;
  const kept = whole ? take(summaries.toReversed().map(({ size }) => size)) : 0;
  return { summaries: kept, exchanges: whole ? fresh + take(sizes.slice(freshTurns)) : fresh, anchored };
}
