import { z } from 'zod';
import type { TurnFailure, TurnResult } from '@switchyard/contracts';
import { collection } from '@switchyard/store';

/** One message, as it was kept beside its turn before the turns themselves were the history. */
export const EarlierMessage = z.object({
  id: z.string(),
  sessionKey: z.string(),
  turnId: z.string(),
  seq: z.int(),
  role: z.enum(['user', 'assistant']),
  content: z.string(),
  timestamp: z.int(),
});
export type EarlierMessage = z.infer<typeof EarlierMessage>;

/** A turn of that time, as far as it is needed. */
export interface EarlierTurn {
  turnId: string;
  sessionKey: string;
  seq: number;
  agentId: string;
  message: string;
  client: string;
  scopes: string[];
  sessions?: 'own';
  idempotencyKey?: string;
  fingerprint: string;
  state: 'queued' | 'running' | 'done' | 'failed' | 'cancelled';
  attempts: number;
  steps: unknown[];
  result?: TurnResult;
  failure?: TurnFailure;
  costUsd?: number;
  lastFrame?: number;
  createdAt: number;
  startedAt?: number;
  finishedAt?: number;
}

/** A session of that time: it said which turn had its lane, and how many messages count. */
export interface EarlierSession {
  activeTurn?: string | null;
  messageCount: number;
}

const BYTES = 8_388_608;

export const earlierMessages = collection({
  name: 'messages',
  schema: EarlierMessage,
  key: 'id',
  maxBytes: BYTES,
  indexes: [{ fields: ['sessionKey', 'seq'] }],
});

/** What was done once to everything in the database. */
export const migrationCollection = collection({ name: 'migrations', schema: z.object({ name: z.string(), at: z.int() }), key: 'name' });
