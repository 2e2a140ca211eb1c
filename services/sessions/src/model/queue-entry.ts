import { bucketKey } from '@switchyard/contracts';
import type { TurnDocument } from './turn-document.ts';

/** An entry of a session queue: a turn, its agent and its times. */
export interface QueueEntry {
  turnId: string;
  agentId: string;
  /** Time of acceptance. */
  acceptedAt: number;
  /** Earliest start. Later than the acceptance only when the turn is debounced. */
  notBefore: number;
  /** Lane of the turn, if lanes are configured. */
  lane?: string | undefined;
}

type QueuedTurn = Pick<TurnDocument, 'turnId' | 'agentId' | 'createdAt' | 'debounceUntil' | 'lane'>;

/** Formats an entry as text, so that a write guard can match it and a write can remove it. The same turn always gives the same text. */
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

/** Session fields that are set while the queue head waits and no replica holds the lease. */
export function waitingFields(tenant: string, entry: QueueEntry): { waitsFor: string; runnableAt: number } {
  return { waitsFor: formatWaitsFor(tenant, entry), runnableAt: entry.notBefore };
}

/** Formats the key under which a turn waits: its agent, and its lane if lanes are configured. */
export function formatWaitsFor(tenant: string, { agentId, lane }: Pick<QueueEntry, 'agentId' | 'lane'>): string {
  return formatLaneKey(bucketKey(tenant, agentId), lane);
}

/** Formats the key of a lane of an agent (`bucketKey`). */
export function formatLaneKey(agent: string, lane: string | undefined): string {
  return lane === undefined ? agent : `${agent} ${encodeLane(lane)}`;
}

/** Returns the agent key (`bucketKey`) of a wait key. Agent keys contain no space. */
export function parseAgentKey(waitsFor: string): string {
  const end = waitsFor.indexOf(' ');
  return end === -1 ? waitsFor : waitsFor.slice(0, end);
}

/** Returns the lane of a wait key. */
export function parseLane(waitsFor: string): string | undefined {
  const end = waitsFor.indexOf(' ');
  return end === -1 ? undefined : decodeURIComponent(waitsFor.slice(end + 1));
}

/** Encodes the lane name, because entries are split at spaces. */
function encodeLane(lane: string): string {
  return encodeURIComponent(lane.toWellFormed());
}
