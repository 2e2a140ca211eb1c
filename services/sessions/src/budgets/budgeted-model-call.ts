import type { ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service-kit';
import type { Budget, Call } from './budgets.ts';

/** The token counts and the cost of a model response. */
export interface Costing {
  input: number;
  output: number;
  costUsd: number;
}

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
}

/**
 * Calls a model within a budget and a timeout. Reserves the expected use before the call and settles the actual use after it. A failed
 * call settles zero.
 */
export async function askWithin<A extends Costing>(
  { budget, call, clock, ms, late, signal }: Bounds,
  sendRequest: (signal: AbortSignal) => Promise<A>,
): Promise<A> {
  const reserved = await budget?.reserve(call);
  const bound = new AbortController();
  const stop = clock.after(ms, () => bound.abort(late));
  let used = { tokens: 0, costUsd: 0 };
  try {
    const answer = await sendRequest(AbortSignal.any([signal, bound.signal]));
    used = { tokens: answer.input + answer.output, costUsd: answer.costUsd };
    return answer;
  } finally {
    stop();
    reserved?.settle(used);
  }
}
