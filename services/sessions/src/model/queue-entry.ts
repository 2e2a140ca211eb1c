import { bucketKey } from '@switchyard/contracts';
import type { TurnDocument } from './turn-document.ts';

/** An entry of a session queue: a turn, its agent and its times. */
export interface Entry {
  turnId: string;
  agentId: string;
  /** Time of acceptance. */
  at: number;
  /** Earliest start. Later than the acceptance only when the turn is debounced. */
  from: number;
  /** Lane of the turn, if lanes are configured. */
  lane?: string | undefined;
}

type Entering = Pick<TurnDocument, 'turnId' | 'agentId' | 'createdAt' | 'gathersUntil' | 'lane'>;

/** Formats an entry as text, so that a write guard can match it and a write can remove it. The same turn always gives the same text. */
export function toEntry({ turnId, agentId, createdAt, gathersUntil, lane }: Entering): string {
  const plain = `${turnId} ${createdAt} ${agentId}`;
  if (lane !== undefined) return `${plain} ${gathersUntil ?? createdAt} ${encodeLane(lane)}`;
  return gathersUntil === undefined ? plain : `${plain} ${gathersUntil}`;
}

export function readEntry(text: string): Entry {
  const [turnId = '', at = '0', agentId = '', from = at, lane] = text.split(' ');
  const entry = { turnId, agentId, at: Number(at), from: Number(from) };
  return lane === undefined ? entry : { ...entry, lane: decodeURIComponent(lane) };
}

/** Session fields that are set while the queue head waits and no replica holds the lease. */
export function waiting(tenant: string, entry: Entry): { waitsFor: string; runnableAt: number } {
  return { waitsFor: waitsForOf(tenant, entry), runnableAt: entry.from };
}

/** Formats the key under which a turn waits: its agent, and its lane if lanes are configured. */
export function waitsForOf(tenant: string, { agentId, lane }: Pick<Entry, 'agentId' | 'lane'>): string {
  return inLane(bucketKey(tenant, agentId), lane);
}

/** Formats the key of a lane of an agent (`bucketKey`). */
export function inLane(agent: string, lane: string | undefined): string {
  return lane === undefined ? agent : `${agent} ${encodeLane(lane)}`;
}

/** Returns the agent key (`bucketKey`) of a wait key. Agent keys contain no space. */
export function agentKeyOf(waitsFor: string): string {
  const end = waitsFor.indexOf(' ');
  return end === -1 ? waitsFor : waitsFor.slice(0, end);
}

/** Returns the lane of a wait key. */
export function laneOfWaiting(waitsFor: string): string | undefined {
  const end = waitsFor.indexOf(' ');
  return end === -1 ? undefined : decodeURIComponent(waitsFor.slice(end + 1));
}

/** Encodes the lane name, because entries are split at spaces. */
function encodeLane(lane: string): string {
  return encodeURIComponent(lane.toWellFormed());
}
