import type { Bus } from '@switchyard/bus';
import type { TurnFailure, TurnResult, TurnUsage } from '@switchyard/contracts';
import type { OutboxEvent } from '@switchyard/store';
import type { TurnDocument } from '../../model/turn-document.ts';

/** What the write that ends a turn knows of the end. */
export interface EndFacts {
  state: 'done' | 'failed' | 'cancelled';
  finishReason?: TurnResult['finishReason'];
  failure?: TurnFailure;
  /** The turn whose answer this one shares. */
  mergedInto?: string;
  usage: TurnUsage;
  steps: number;
  now: number;
}

const NO_USAGE: TurnUsage = { calls: 0, unknownCalls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, costUsd: 0 };

/** Returns the usage of a turn that called no model. */
export function noUsage(): TurnUsage {
  return { ...NO_USAGE };
}

/** Returns the event `turn:ended`, to be emitted with the write that ends the turn, so that it is published exactly when the turn has ended. */
export function turnEndedEvent(turn: TurnDocument, { state, finishReason, failure, mergedInto, usage, steps, now }: EndFacts): OutboxEvent {
  const { turnId, sessionKey, agentId, client, order, createdAt, startedAt } = turn;
  const reason = failure?.details?.['reason'];
  return {
    name: 'turn:ended',
    payload: {
      turnId,
      sessionKey,
      agentId,
      client,
      ...(order && { kind: order.kind, origin: order.origin }),
      state,
      ...(finishReason === undefined ? {} : { finishReason }),
      ...(failure && { failure: { code: failure.code, ...(typeof reason === 'string' ? { reason } : {}) } }),
      ...(mergedInto === undefined ? {} : { mergedInto }),
      usage,
      steps,
      createdAt,
      ...(startedAt === undefined ? {} : { startedAt }),
      finishedAt: now,
    },
  };
}

/** Wakes the service that ordered the turn. A lost message costs latency only, because the service also reads `turns.ends`. */
export function wakeOrigin(bus: Pick<Bus, 'wake'>, { order }: TurnDocument): void {
  if (order) bus.wake(order.origin.service);
}
