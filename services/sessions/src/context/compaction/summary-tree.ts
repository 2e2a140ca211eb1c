import type { Root } from '../../model/session-document.ts';

/** A turn that is not part of a summary yet. */
export interface Loose {
  seq: number;
  messages: number;
  chars: number;
}

export interface TreeLimits {
  /** Number of newest turns that are never summarized. */
  freshTurns: number;
  /** The newest turns up to this length are not summarized either. */
  recent?: Recent | undefined;
  /** Minimum number of messages in a summary. */
  leastMessages: number;
  /** Maximum characters of turns in one summary, unless a single turn is longer. */
  chunkChars: number;
  /** Number of summaries of one depth that are merged into one. */
  fanout: number;
  /** Maximum depth. Summaries that would exceed it are merged only if no turns are left to summarize. */
  depth: number;
}

/** The newest messages, which stay verbatim. */
export interface Recent {
  /** Total length of the unsummarized turns. */
  loose: number;
  /** Characters of them that stay verbatim. */
  chars: number;
  /** Turns up to this number are never in the prompt verbatim. */
  lastSummarizable: number;
}

/** Maximum number of root summaries, because the session document lists them. More are merged in any case. */
const MAX_ROOTS = 100;

/** Input of the next summary: turns, or summaries of one depth. */
export type Fold = { turns: readonly Loose[]; roots?: undefined } | { roots: readonly Root[]; turns?: undefined };

/** Selects the oldest input: shallow summaries, then turns, then any summaries. Undefined if there is nothing to summarize. */
export function nextFold(roots: readonly Root[], loose: readonly Loose[], limits: TreeLimits): Fold | undefined {
  return firstOfAll(roots, limits) ?? foldOfTurns(loose, limits) ?? foldOfRoots(roots, limits.fanout);
}

/** Returns the summaries that are merged before any turn is summarized. */
export function firstOfAll(roots: readonly Root[], { fanout, depth }: TreeLimits): Fold | undefined {
  return foldOfRoots(roots, fanout, roots.length < MAX_ROOTS ? depth : Infinity);
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

/** Returns the turns that may be summarized while the newest messages stay verbatim. */
function beforeRecent(old: readonly Loose[], recent: Recent | undefined): readonly Loose[] {
  if (!recent) return old;
  let remaining = recent.loose;
  const cut = old.findIndex(({ seq, chars }) => (remaining -= chars) < recent.chars && seq > recent.lastSummarizable);
  return cut === -1 ? old : old.slice(0, cut);
}

/** Returns the first adjacent summaries of one depth, up to the given depth, that can be merged. */
function foldOfRoots(roots: readonly Root[], fanout: number, deepest = Infinity): Fold | undefined {
  for (const [at, { depth }] of roots.entries()) {
    const group = roots.slice(at, at + fanout);
    if (depth < deepest && group.length === fanout && group.every((root) => root.depth === depth)) return { roots: group };
  }
  return undefined;
}

/** Returns the tree with the new summary in place of its inputs. The inputs remain stored in order. */
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

/** Returns the number of the last summarized turn. */
export function coveredTo(roots: readonly Root[]): number {
  return roots.at(-1)?.to ?? 0;
}

/** Returns how many of the first turns stay before the summaries, so that every prompt has the same prefix. */
export function getAnchors(loose: readonly Loose[], { turns, chars }: { turns: number; chars: number }): number {
  let left = chars;
  const cut = loose.slice(0, turns).findIndex((turn) => (left -= turn.chars) < 0);
  return cut === -1 ? Math.min(turns, loose.length) : cut;
}

/** Total size of the summaries and the unsummarized turns. */
export function getSize(conversation: Conversation): number {
  return (conversation.roots ?? []).reduce((sum, { size }) => sum + size, looseChars(conversation));
}

/** Total characters of the unsummarized turns. */
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
  /** Summaries, oldest first. */
  summaries: readonly { size: number }[];
  /** Unsummarized exchanges, newest first. */
  exchanges: readonly E[];
  getChars: (exchange: E) => number;
  /** Total size of the anchor turns before the summaries. They are included together or not at all. */
  anchorChars?: number;
  /** Number of newest exchanges that take precedence over summaries. */
  freshTurns: number;
  room: number;
}

export interface Fits {
  summaries: number;
  exchanges: number;
  anchored: boolean;
}

/**
 * Selects the history for a prompt in this order: the newest exchanges, the anchor turns, the summaries, then further exchanges while
 * there is room. Within each kind the oldest entries are dropped.
 */
export function fit<E>({ summaries, exchanges, getChars: charsOf, anchorChars = 0, freshTurns, room }: Fitting<E>): Fits {
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
  const isComplete = fresh === Math.min(freshTurns, sizes.length);
  const anchored = isComplete && take([anchorChars]) === 1;
  const keptCount = isComplete ? take(summaries.toReversed().map(({ size }) => size)) : 0;
  return { summaries: keptCount, exchanges: isComplete ? fresh + take(sizes.slice(freshTurns)) : fresh, anchored };
}
