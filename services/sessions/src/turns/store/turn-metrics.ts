import { histogram, observe, startSpan, type Span } from '@switchyard/telemetry';
import { ServiceError, type StatelessResult, type TurnFailure } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import type { TurnDocument, TurnEnd } from '../../model/turn-document.ts';
import { toError } from './turn-failure.ts';

/** Durable turns have a document and a place in a queue; stateless turns only have frames. */
export type TurnKind = 'durable' | 'stateless';

/** Minimum interval between database counts of waiting turns, however often metrics are scraped. */
const COUNT_INTERVAL_MS = 5_000;

/** Registers gauges for running and waiting turns. Returns a function that removes them. */
export function observeTurns(runner: { runningCount(): number }, turns: Pick<Collection<TurnDocument>, 'system'>): () => void {
  const ends = [
    observe('switchyard.turn.running', { kind: 'durable' }, () => runner.runningCount()),
    observe('switchyard.turn.running', { kind: 'stateless' }, () => stateless),
    observe('switchyard.turn.waiting', {}, countWaiting(turns)),
  ];
  return () => {
    for (const end of ends) end();
  };
}

/** Returns the last count and refreshes it in the background, so that a scrape does not wait for the database. */
function countWaiting(turns: Pick<Collection<TurnDocument>, 'system'>): () => number {
  let waiting = Number.NaN;
  let countedAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - countedAt < COUNT_INTERVAL_MS) return waiting;
    countedAt = performance.now();
    turns
      .system()
      .count({ state: 'queued' })
      .then(
        (count) => (waiting = count),
        () => (waiting = Number.NaN),
      );
    return waiting;
  };
}

/** Records how long a durable turn waited before it started. */
export function recordWait(ms: number): void {
  histogram('switchyard.turn.wait', {}).record(Math.max(0, ms) / 1_000);
}

/** Records the outcome of a turn and the time since its acceptance. */
export function recordEnd(kind: TurnKind, end: Pick<StatelessResult, 'finishReason'> | Pick<TurnFailure, 'code'>, ms: number): void {
  const outcome = 'code' in end ? end.code : end.finishReason;
  histogram('switchyard.turn.duration', { kind, outcome }).record(Math.max(0, ms) / 1_000);
}

let stateless = 0;

/** Measures a stateless turn. Disposing it before its end records a cancellation. */
export interface StatelessMeasure extends Disposable {
  readonly traceparent: string | undefined;
  end(result: Pick<StatelessResult, 'finishReason'>): void;
  fail(error: unknown): void;
}

export function measureStateless(turn: { agentId: string; turnId: string }, traceparent: string | undefined): StatelessMeasure {
  const startedAt = performance.now();
  const span = startTurnSpan(turn, traceparent);
  let ended = false;
  stateless++;

  function recordOnce(end: Parameters<typeof recordEnd>[1], error?: unknown): void {
    if (ended) return;
    ended = true;
    stateless--;
    recordEnd('stateless', end, performance.now() - startedAt);
    span.end(error);
  }

  return {
    traceparent: span.traceparent,
    end: (result) => recordOnce(result),
    fail: (error) => recordOnce({ code: error instanceof ServiceError ? error.code : 'INTERNAL' }, error),
    [Symbol.dispose]: () => recordOnce({ code: 'CANCELLED' }, CLIENT_LEFT),
  };
}

const CLIENT_LEFT = new ServiceError('CANCELLED', 'The client disconnected.');

/** Starts the span of the turn in the trace of the request, on whichever replica and however late it runs. */
export function startTurnSpan({ agentId, turnId }: { agentId: string; turnId: string }, traceparent: string | undefined): Span {
  const attributes = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.id': agentId, 'switchyard.turn_id': turnId };
  return startSpan(`invoke_agent ${agentId}`, attributes, traceparent);
}

export function endTurnSpan(span: Span, end: TurnEnd | undefined): void {
  span.end(end?.failure && toError(end.failure));
}
