import { bucketKey } from '@switchyard/contracts';
import type { TurnDocument } from './turn-document.ts';

/** One thing to be done in a session: a turn, whose it is and since when it waits. */
export interface QueueEntry {
  turnId: string;
  agentId: string;
  /** When it was accepted. */
  acceptedAt: number;
  /** When it may begin: later than that only where more is gathered first. */
  notBefore: number;
  /** The lane in which it waits, where there are any. */
  lane?: string | undefined;
}

type QueuedTurn = Pick<TurnDocument, 'turnId' | 'agentId' | 'createdAt' | 'debounceUntil' | 'lane'>;

/** An entry as a queue holds it: text, so that a write can ask for it and take it out. The same turn always gives the same text. */
export function formatEntry({ turnId, agentId, createdAt, debounceUntil, lane }: QueuedTurn): string {
  const plain = `${turnId} ${createdAt} ${agentId}`;
  if (lane !== undefined) return `${plain} ${debounceUntil ?? createdAt} ${encodeLane(lane)}`;
  return debounceUntil === undefined ? plain : `${plain} ${debounceUntil}`;
}

export function parseEntry(text: string): QueueEntry {
  const [turnId = '', acceptedAt = '0', agentId = '', notBefore = acceptedAt, lane] = text.split(' ');
  const entry = { turnId, agentId, acceptedAt: Number(acceptedAt), notBefore: Number(notBefore) };
  return lane === undefined ? entry : { ...entry, lane: decodeURIComponent(lane) };
}

/** What a session says while the first of its queue waits with nobody at work. */
export function waitingFields(tenant: string, entry: QueueEntry): { waitsFor: string; runnableAt: number } {
  return { waitsFor: formatWaitsFor(tenant, entry), runnableAt: entry.notBefore };
}

/** What a turn waits for: room for its agent, in its lane where there are any. */
export function formatWaitsFor(tenant: string, { agentId, lane }: Pick<QueueEntry, 'agentId' | 'lane'>): string {
  return formatLaneKey(bucketKey(tenant, agentId), lane);
}

/** The same of an agent (`bucketKey`). */
export function formatLaneKey(agent: string, lane: string | undefined): string {
  return lane === undefined ? agent : `${agent} ${encodeLane(lane)}`;
}

/** The agent (`bucketKey`) of what is waited for. It has no space in it. */
export function parseAgentKey(waitsFor: string): string {
  const end = waitsFor.indexOf(' ');
  return end === -1 ? waitsFor : waitsFor.slice(0, end);
}

/** The lane of what is waited for. */
export function parseLane(waitsFor: string): string | undefined {
  const end = waitsFor.indexOf(' ');
  return end === -1 ? undefined : decodeURIComponent(waitsFor.slice(end + 1));
}

/** Encodes the lane name, because entries are split at spaces. */
function encodeLane(lane: string): string {
  return encodeURIComponent(lane.toWellFormed());
}
