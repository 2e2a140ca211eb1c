import { ServiceError, type TurnUsage, type UsageOutcome } from '@switchyard/contracts';
import { CIRCUIT_OPEN } from '@switchyard/models';
import type { Clock } from '@switchyard/service-kit';
import type { Budget, Call } from './budgets.ts';
import { getOutcome } from '@switchyard/service-kit';

/** The token counts and the cost of a model response. */
export interface Costing {
  input: number;
  output: number;
  costUsd: number;
  /** Number of model calls, if more than one. */
  calls?: number;
}

/** Usage of a call whose answer did not arrive. */
const UNKNOWN_USAGE: TurnUsage = { calls: 1, unknownCalls: 1, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, costUsd: 0 };

/** Budget and time limit of a model call outside a turn's steps. */
export interface Bounds {
  /** Undefined disables budget accounting. */
  budget: Budget | undefined;
  call: Call;
  clock: Clock;
  /** Total timeout, and the error that is thrown when it expires. */
  ms: number;
  late: ServiceError;
  signal: AbortSignal;
  /** Receives the usage of the call, however it ends. */
  record: (outcome: UsageOutcome, usage: TurnUsage) => void;
}

/**
 * Calls a model within a budget and a timeout. Reserves the expected use before the call and settles the actual use after it. A failed
 * call settles zero.
 */
export async function askWithin<A extends Costing>(
  { budget, call, clock, ms, late, signal, record }: Bounds,
  sendRequest: (signal: AbortSignal) => Promise<A>,
): Promise<A> {
  const reserved = await budget?.reserve(call);
  const bound = new AbortController();
  const stop = clock.after(ms, () => bound.abort(late));
  let used = { tokens: 0, costUsd: 0 };
  try {
    const answer = await sendRequest(AbortSignal.any([signal, bound.signal]));
    const { input, output, costUsd, calls = 1 } = answer;
    used = { tokens: input + output, costUsd };
    record('answered', { calls, unknownCalls: 0, input, output, cacheRead: 0, cacheWrite: 0, costUsd });
    return answer;
  } catch (error) {
    if (wasSent(error)) record(signal.aborted ? 'cancelled' : getOutcome(error), UNKNOWN_USAGE);
    throw error;
  } finally {
    stop();
    reserved?.settle(used);
  }
}

/** An open circuit breaker rejects a call before it is sent. */
function wasSent(error: unknown): boolean {
  return !(error instanceof ServiceError && error.details.reason === CIRCUIT_OPEN);
}
