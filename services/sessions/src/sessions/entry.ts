import { bucketKey } from '@switchyard/contracts';
import type { TurnDocument } from '../data.ts';

/** One thing to be done in a session: a turn, whose it is and since when it waits. */
export interface Entry {
  turnId: string;
  agentId: string;
  /** When it was accepted. */
  at: number;
  /** When it may begin: later than that only where more is gathered first. */
  from: number;
}

type Entering = Pick<TurnDocument, 'turnId' | 'agentId' | 'createdAt' | 'gathersUntil'>;

/** An entry as a queue holds it: text, so that a write can ask for it and take it out. The same turn always gives the same text. */
export function toEntry({ turnId, agentId, createdAt, gathersUntil }: Entering): string {
  return `${turnId} ${createdAt} ${agentId}${gathersUntil === undefined ? '' : ` ${gathersUntil}`}`;
}

export function readEntry(text: string): Entry {
  const [turnId = '', at = '0', agentId = '', from = at] = text.split(' ');
  return { turnId, agentId, at: Number(at), from: Number(from) };
}

/** What a session says while the first of its queue waits with nobody at work. */
export function waiting(tenant: string, { agentId, from }: Entry): { waitsFor: string; runnableAt: number } {
  return { waitsFor: bucketKey(tenant, agentId), runnableAt: from };
}
