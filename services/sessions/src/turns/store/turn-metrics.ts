import { histogram, observe, startSpan, type Span } from '@switchyard/telemetry';
import { ServiceError, type StatelessResult, type TurnFailure } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import type { TurnDocument, TurnEnd } from '../../model/turn-document.ts';
import { toError } from './turn-failure.ts';

/** Kept, with a place in the queue of its session; or its frames are all there is. */
export type TurnKind = 'durable' | 'stateless';

/** Counting what waits asks the database: not more often than this, whoever asks for the metrics. */
const COUNT_MS = 5_000;

/** Counts the turns that run and those that wait, from now on. */
export function observeTurns(running: { readonly size: number }, turns: Pick<Collection<TurnDocument>, 'system'>): () => void {
  const ends = [
    observe('switchyard.turn.running', { kind: 'durable' }, () => running.size),
    observe('switchyard.turn.running', { kind: 'stateless' }, () => stateless),
    observe('switchyard.turn.waiting', {}, countWaiting(turns)),
  ];
  return () => {
    for (const end of ends) end();
  };
}

/** What was counted last: whoever asks for the metrics does not wait for the database. */
function countWaiting(turns: Pick<Collection<TurnDocument>, 'system'>): () => number {
  let waiting = Number.NaN;
  let countedAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - countedAt < COUNT_MS) return waiting;
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

/** A durable turn begins here after it waited so long. */
export function noteWait(ms: number): void {
  histogram('switchyard.turn.wait', {}).record(Math.max(0, ms) / 1_000);
}

/** How a turn ended, and how long after its acceptance. */
export function noteEnd(kind: TurnKind, end: Pick<StatelessResult, 'finishReason'> | Pick<TurnFailure, 'code'>, ms: number): void {
  const outcome = 'code' in end ? end.code : end.finishReason;
  histogram('switchyard.turn.duration', { kind, outcome }).record(Math.max(0, ms) / 1_000);
}

let stateless = 0;

/** A stateless turn from now on. One that is left in the middle is cancelled. */
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

  function note(end: Parameters<typeof noteEnd>[1], error?: unknown): void {
    if (ended) return;
    ended = true;
    stateless--;
    noteEnd('stateless', end, performance.now() - startedAt);
    span.end(error);
  }

  return {
    traceparent: span.traceparent,
    end: (result) => note(result),
    fail: (error) => note({ code: error instanceof ServiceError ? error.code : 'INTERNAL' }, error),
    [Symbol.dispose]: () => note({ code: 'CANCELLED' }, LEFT),
  };
}

const LEFT = new ServiceError('CANCELLED', 'The client left.');

/** The turn as a span of the trace that asked for it, whoever runs it and however late. */
export function startTurnSpan({ agentId, turnId }: { agentId: string; turnId: string }, traceparent: string | undefined): Span {
  const attributes = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.id': agentId, 'switchyard.turn_id': turnId };
  return startSpan(`invoke_agent ${agentId}`, attributes, traceparent);
}

export function endTurnSpan(span: Span, end: TurnEnd | undefined): void {
  span.end(end?.failure && toError(end.failure));
}
