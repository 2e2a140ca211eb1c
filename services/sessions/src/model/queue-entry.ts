import { bucketKey, bucketKeyParts } from '@switchyard/contracts';
import type { TurnDocument } from './turn-document.ts';

/** An entry of a session queue: a turn, its agent, its client and its times. */
export interface QueueEntry {
  turnId: string;
  agentId: string;
  /** Time of acceptance. */
  acceptedAt: number;
  /** Earliest start. Later than the acceptance only when the turn is debounced. */
  notBefore: number;
  /** Lane of the turn, if lanes are configured. */
  lane?: string | undefined;
  /** Empty in entries of earlier versions, which did not name the client. */
  client: string;
}

type QueuedTurn = Pick<TurnDocument, 'turnId' | 'agentId' | 'client' | 'createdAt' | 'debounceUntil' | 'lane'>;

/** Formats an entry as text, so that a write guard can match it and a write can remove it. The same turn always gives the same text. */
export function formatEntry({ turnId, agentId, client, createdAt, debounceUntil, lane }: QueuedTurn): string {
  return [turnId, createdAt, agentId, debounceUntil ?? createdAt, encode(lane), encode(client)].join(' ');
}

export function parseEntry(text: string): QueueEntry {
  const [turnId = '', acceptedAt = '0', agentId = '', notBefore = acceptedAt, lane, client = ''] = text.split(' ');
  const entry = { turnId, agentId, acceptedAt: Number(acceptedAt), notBefore: Number(notBefore), client: decodeURIComponent(client) };
  return lane ? { ...entry, lane: decodeURIComponent(lane) } : entry;
}

/** Session fields that are set while the queue head waits and no replica holds the lease. */
export function waitingFields(tenant: string, entry: QueueEntry): { waitsFor: string; runnableAt: number } {
  return { waitsFor: formatWaitsFor(tenant, entry), runnableAt: entry.notBefore };
}

/** What the scheduler distinguishes: turns with the same agent, client and lane run in the order of their acceptance. */
export interface WaitKey {
  tenant: string;
  agentId: string;
  client: string;
  lane?: string | undefined;
}

/** Formats the key under which a turn waits: its agent, its lane if lanes are configured, and its client. */
export function formatWaitsFor(tenant: string, { agentId, lane, client }: Pick<QueueEntry, 'agentId' | 'lane' | 'client'>): string {
  return [bucketKey(tenant, agentId), encode(lane), encode(client)].join(' ');
}

export function parseWaitsFor(waitsFor: string): WaitKey {
  const [agent = '', lane, client = ''] = waitsFor.split(' ');
  const { tenant = '', id: agentId = '' } = bucketKeyParts(agent) ?? {};
  const key = { tenant, agentId, client: decodeURIComponent(client) };
  return lane ? { ...key, lane: decodeURIComponent(lane) } : key;
}

/** Encodes a name, because entries and keys are split at spaces. */
function encode(name = ''): string {
  return encodeURIComponent(name.toWellFormed());
}
