import type { ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service-kit';
import type { Budget, Call } from './budgets.ts';

/** What a model said, and what that cost. */
export interface Costing {
  input: number;
  output: number;
  costUsd: number;
}

/** What bounds a question to a model that is no step of a turn. */
export interface Bounds {
  /** Without it nobody counts. */
  budget: Budget | undefined;
  call: Call;
  clock: Clock;
  /** How long it may take in all, and what it fails with then. */
  ms: number;
  late: ServiceError;
  signal: AbortSignal;
}

/** Asks within a budget and a time: what it may need is set aside before, and settled by what it used; what fails used nothing. */
export async function askWithin<A extends Costing>(
  { budget, call, clock, ms, late, signal }: Bounds,
  ask: (signal: AbortSignal) => Promise<A>,
): Promise<A> {
  const reserved = await budget?.reserve(call);
  const bound = new AbortController();
  const stop = clock.after(ms, () => bound.abort(late));
  let used = { tokens: 0, costUsd: 0 };
  try {
    const answer = await ask(AbortSignal.any([signal, bound.signal]));
    used = { tokens: answer.input + answer.output, costUsd: answer.costUsd };
    return answer;
  } finally {
    stop();
    reserved?.settle(used);
  }
}
