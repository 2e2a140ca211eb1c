import type { Bus } from '@switchyard/bus';
import type { TurnFailure, TurnResult, TurnUsage } from '@switchyard/contracts';
import type { OutboxEvent } from '@switchyard/store';
import type { TurnDocument } from '../../model/turn-document.ts';
import { readEvidence } from './event-evidence.ts';

/** What the write that ends a turn knows of the end. */
export interface EndFacts {
  state: 'done' | 'failed' | 'cancelled';
  finishReason?: TurnResult['finishReason'];
  failure?: TurnFailure;
  /** The turn whose answer this one shares. */
  mergedInto?: string;
  usage: TurnUsage;
  steps: number;
  /** Turn trace as JSON. */
  trace?: string | undefined;
  now: number;
}

const NO_USAGE: TurnUsage = { calls: 0, unknownCalls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, costUsd: 0 };

/** Returns the usage of a turn that called no model. */
export function noUsage(): TurnUsage {
  return { ...NO_USAGE };
}

/** Returns the event `turn:ended`, to be emitted with the write that ends the turn, so that it is published exactly when the turn has ended. */
export function turnEndedEvent(
  turn: TurnDocument,
  { state, finishReason, failure, mergedInto, usage, steps, trace, now }: EndFacts,
): OutboxEvent {
  const { turnId, sessionKey, agentId, client, order, parks = 0, createdAt, startedAt } = turn;
  const attempts = turn.attempts - parks;
  const { reason, status } = failure?.details ?? {};
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
      ...(failure && {
        failure: {
          code: failure.code,
          ...(typeof reason === 'string' ? { reason } : {}),
          ...(typeof status === 'number' ? { status } : {}),
          ...(isSchemaRejection(failure) ? { rejected: 'tool_schema' } : {}),
        },
      }),
      ...(mergedInto === undefined ? {} : { mergedInto }),
      usage,
      steps,
      ...(attempts > 1 ? { attempts } : {}),
      ...(trace === undefined ? {} : { evidence: readEvidence(trace) }),
      createdAt,
      ...(startedAt === undefined ? {} : { startedAt }),
      finishedAt: now,
    },
  };
}

/** A provider's message about the schema or the parameters of a tool or function. */
const TOOL_SCHEMA =
  /\b(?:tools?|functions?)\b[^]{0,200}\b(?:schema|parameters)\b|\b(?:schema|parameters)\b[^]{0,200}\b(?:tools?|functions?)\b/i;

/** Providers have no common code for this, so that their message decides. It is read here because the event contains no texts. */
function isSchemaRejection({ message, details }: TurnFailure): boolean {
  return details?.['reason'] === 'PROVIDER_REJECTED' && TOOL_SCHEMA.test(message);
}

/** Wakes the service that ordered the turn. A lost message costs latency only, because the service also reads `turns.ends`. */
export function wakeOrigin(bus: Pick<Bus, 'wake'>, { order }: TurnDocument): void {
  if (order) bus.wake(order.origin.service);
}
