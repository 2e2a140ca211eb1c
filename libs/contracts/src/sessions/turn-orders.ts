import { z } from 'zod';
import { SERVICES, type OperationSpecs } from '../definition/define.ts';
import { Count, IdempotencyKey, SessionKey, Timestamp } from '../values/common.ts';
import { MAX, boundedString } from '../values/sizes.ts';
import { TURN_EVENTS } from './turn-events.ts';
import { TurnUsage } from './turn-usage.ts';
import { StartTurn, TurnAccepted, TurnFailure, TurnId, TurnResult, TurnState } from './turns.ts';

/** Services that order turns. */
const ORDERING_SERVICES = ['scheduler', 'graph', 'channels', 'tools'] as const;

/** Longest wait of `turns.ends`. */
const MAX_WAIT_MS = 20_000;

/** Why a service ordered a turn. */
export const TurnKind = z.enum(['cron', 'heartbeat', 'subagent', 'graph', 'channel', 'extraction']);
export type TurnKind = z.infer<typeof TurnKind>;

/** The service that ordered a turn, and its own name for the order. */
export const TurnOrigin = z.object({
  service: z.enum(SERVICES),
  ref: boundedString(MAX.name).describe('names the order within the service, for example a run id'),
});
export type TurnOrigin = z.infer<typeof TurnOrigin>;

/** Limits of one turn below those of its agent. */
export const TurnLimits = z.strictObject({
  steps: z.int().positive().optional(),
  tokens: z.int().positive().optional(),
  costUsd: z.number().positive().optional(),
});
export type TurnLimits = z.infer<typeof TurnLimits>;

export const OrderTurn = StartTurn.omit({ turnId: true }).extend({
  idempotencyKey: IdempotencyKey.describe('the same key orders the same turn, for example <job>@<instant>'),
  kind: TurnKind,
  origin: TurnOrigin,
  limits: TurnLimits.optional(),
});

/** How one turn stands or how it ended. */
export const TurnEndRecord = z.object({
  turnId: TurnId,
  sessionKey: SessionKey,
  state: TurnState,
  result: TurnResult.optional(),
  failure: TurnFailure.optional(),
  usage: TurnUsage.optional().describe('once the turn has ended'),
  steps: Count.optional(),
  startedAt: Timestamp.optional(),
  finishedAt: Timestamp.optional(),
});
export type TurnEndRecord = z.infer<typeof TurnEndRecord>;

/** Turns that other services order, and how these services learn how a turn ended. */
export const turnOrderOperations = {
  'turns.order': {
    summary: 'Accepts a durable turn for another service. The same key returns the same turn.',
    callers: ORDERING_SERVICES,
    blobs: ['message'],
    params: OrderTurn,
    result: TurnAccepted,
    emits: TURN_EVENTS,
    idempotent: true,
  },
  'turns.ends': {
    summary: 'Returns how turns of the caller stand, and waits until all of them have ended or the time is over.',
    callers: ORDERING_SERVICES,
    blobs: ['turns'],
    params: z.strictObject({
      turnIds: z.array(TurnId).min(1).max(MAX.few),
      waitMs: z.int().nonnegative().max(MAX_WAIT_MS).default(0),
    }),
    result: z.object({
      turns: z.array(TurnEndRecord).max(MAX.few),
      missing: z.array(TurnId).max(MAX.few).describe('turns that do not exist, or belong to another client'),
    }),
    deadlineMs: MAX_WAIT_MS + 5_000,
    idempotent: true,
    reads: true,
  },
} satisfies OperationSpecs;
