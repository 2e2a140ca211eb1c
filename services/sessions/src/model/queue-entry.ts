import { bucketKey } from '@switchyard/contracts';
import type { TurnDocument } from './turn-document.ts';

/** One thing to be done in a session: a turn, whose it is and since when it waits. */
export interface Entry {
  turnId: string;
  agentId: string;
  /** When it was accepted. */
  at: number;
  /** When it may begin: later than that only where more is gathered first. */
  from: number;
  /** The lane in which it waits, where there are any. */
  lane?: string | undefined;
}

type Entering = Pick<TurnDocument, 'turnId' | 'agentId' | 'createdAt' | 'gathersUntil' | 'lane'>;

/** An entry as a queue holds it: text, so that a write can ask for it and take it out. The same turn always gives the same text. */
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

/** What a session says while the first of its queue waits with nobody at work. */
export function waiting(tenant: string, entry: Entry): { waitsFor: string; runnableAt: number } {
  return { waitsFor: waitsForOf(tenant, entry), runnableAt: entry.from };
}

/** What a turn waits for: room for its agent, in its lane where there are any. */
export function waitsForOf(tenant: string, { agentId, lane }: Pick<Entry, 'agentId' | 'lane'>): string {
  return inLane(bucketKey(tenant, agentId), lane);
}

/** The same of an agent (`bucketKey`). */
export function inLane(agent: string, lane: string | undefined): string {
  return lane === undefined ? agent : `${agent} ${encodeLane(lane)}`;
}

/** The agent (`bucketKey`) of what is waited for. It has no space in it. */
export function agentKeyOf(waitsFor: string): string {
  const end = waitsFor.indexOf(' ');
  return end === -1 ? waitsFor : waitsFor.slice(0, end);
}

/** The lane of what is waited for. */
export function laneOfWaiting(waitsFor: string): string | undefined {
  const end = waitsFor.indexOf(' ');
  return end === -1 ? undefined : decodeURIComponent(waitsFor.slice(end + 1));
}

/** A lane may have any name; an entry is taken apart at its spaces. */
function encodeLane(lane: string): string {
  return encodeURIComponent(lane.toWellFormed());
}
