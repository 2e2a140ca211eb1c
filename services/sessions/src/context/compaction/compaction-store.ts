import type { Documents, OutboxEvent } from '@switchyard/store';
import type { Root, SessionDocument } from '../../model/session-document.ts';

/*
 * Writes of a compaction to the session document. They are independent of the session queue, so turns continue meanwhile. Only the
 * lease holder succeeds. A write with an expired lease, or to an ended conversation, changes nothing.
 */

/** A compaction lease, and the session at the time it was acquired. */
export interface Claim {
  session: SessionDocument;
  fence: number;
}

/**
 * Acquires the compaction lease, so that only one replica makes the summary. Returns null if another replica holds the lease or the
 * conversation has changed.
 */
export async function claimCompaction(
  sessions: Documents<SessionDocument>,
  { key, epoch, compactUntil }: SessionDocument,
  { now, until }: { now: number; until: number },
): Promise<Claim | null> {
  if (compactUntil !== undefined && compactUntil > now) return null;
  const session = await sessions.update(
    { key, epoch, compactUntil: compactUntil ?? null },
    { set: { compactUntil: until }, inc: { compactFence: 1 } },
  );
  return session && { session, fence: session.compactFence ?? 0 };
}

/** Renews the lease. Returns null if another replica holds it or the conversation has ended. */
export function renewCompaction(
  sessions: Documents<SessionDocument>,
  { session: { key, epoch }, fence }: Claim,
  deadline: number,
): Promise<SessionDocument | null> {
  return sessions.update({ key, epoch, compactFence: fence, compactUntil: { gt: 0 } }, { set: { compactUntil: deadline } });
}

/** Cost of a summary. */
export interface Cost {
  input: number;
  output: number;
  costUsd: number;
}

/**
 * Adds a summary of `chars` characters to the tree, so that later turns include it. Before this write the summary has no effect. Returns null when another
 * replica holds the lease, or the conversation has ended.
 */
export function publishRoots(
  sessions: Documents<SessionDocument>,
  { session: { key, epoch, lastSeq }, fence }: Claim,
  { roots, chars, cost, event }: { roots: readonly Root[]; chars: number; cost: Cost; event: OutboxEvent },
): Promise<SessionDocument | null> {
  return sessions.update(
    { key, epoch, compactFence: fence },
    {
      set: { roots: [...roots], compactSeq: lastSeq },
      unset: ['compactUntil'],
      inc: { extraChars: chars, inputTokens: cost.input, outputTokens: cost.output, costUsd: cost.costUsd },
      emit: [event],
    },
  );
}

/** Releases the lease, so that other replicas do not wait for its expiry. */
export async function releaseCompaction(sessions: Documents<SessionDocument>, { session: { key }, fence }: Claim): Promise<void> {
  await sessions.update({ key, compactFence: fence, compactUntil: { gt: 0 } }, { unset: ['compactUntil'] });
}
