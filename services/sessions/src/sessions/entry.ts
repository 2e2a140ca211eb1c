import { bucketKey } from '@switchyard/contracts';

/** One thing to be done in a session: a turn, whose it is and since when it waits. */
export interface Entry {
  turnId: string;
  agentId: string;
  /** When it was accepted. */
  at: number;
}

/** An entry as a queue holds it: text, so that a write can ask for it and take it out. The same turn always gives the same text. */
export function toEntry({ turnId, agentId, createdAt }: { turnId: string; agentId: string; createdAt: number }): string {
  return `${turnId} ${createdAt} ${agentId}`;
}

export function readEntry(text: string): Entry {
  const [turnId = '', at = '0', agentId = ''] = text.split(' ');
  return { turnId, agentId, at: Number(at) };
}

/** What a session says while the first of its queue waits with nobody at work. */
export function waiting(tenant: string, { agentId, at }: Entry): { waitsFor: string; runnableAt: number } {
  return { waitsFor: bucketKey(tenant, agentId), runnableAt: at };
}
