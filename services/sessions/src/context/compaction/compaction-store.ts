import type { Documents } from '@switchyard/store';
import type { Root, SessionDocument } from '../../model/session-document.ts';

/*
 * The writes to a session's document by whoever makes a summary of what was said in it. They are beside those of its mailbox: turns go
 * on meanwhile. Of two who would make one, one does; whoever was away for too long, or whose conversation is over, changes nothing.
 */

/** The right to make one summary of a conversation, and the conversation as it was then. */
export interface Claim {
  session: SessionDocument;
  fence: number;
}

/** Without it two would ask a model for the same. Null when somebody is at it, or the conversation is another one by now. */
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

/** Says that somebody is still at it. Null where somebody else is by now, or the conversation is over. */
export function renewCompaction(
  sessions: Documents<SessionDocument>,
  { session: { key, epoch }, fence }: Claim,
  until: number,
): Promise<SessionDocument | null> {
  return sessions.update({ key, epoch, compactFence: fence, compactUntil: { gt: 0 } }, { set: { compactUntil: until } });
}

/** What a summary cost. */
export interface Cost {
  input: number;
  output: number;
  costUsd: number;
}

/**
 * Hangs a summary into the tree: from then on turns are told it. Without this write the tree is as it was, and the summary is nobody's.
 * Null when the claim ran out and somebody else has one, or the conversation is over.
 */
export function publishRoots(
  sessions: Documents<SessionDocument>,
  { session: { key, epoch, lastSeq }, fence }: Claim,
  { roots, cost }: { roots: readonly Root[]; cost: Cost },
): Promise<SessionDocument | null> {
  return sessions.update(
    { key, epoch, compactFence: fence },
    {
      set: { roots: [...roots], compactSeq: lastSeq },
      unset: ['compactUntil'],
      inc: { inputTokens: cost.input, outputTokens: cost.output, costUsd: cost.costUsd },
    },
  );
}

/** Gives the claim back, so that nobody waits for it to run out. */
export async function releaseCompaction(sessions: Documents<SessionDocument>, { session: { key }, fence }: Claim): Promise<void> {
  await sessions.update({ key, compactFence: fence, compactUntil: { gt: 0 } }, { unset: ['compactUntil'] });
}
