import { setTimeout as sleep } from 'node:timers/promises';
import { say, type Behaviour } from './dev-model.ts';
import { networkError, statusError } from './simulated-errors.ts';

const SLOW_TOKENS_PER_SECOND = 20;
const FLAKY_TOKENS_BEFORE_CUT = 3;
const FLAKY_RETRY_AFTER_MS = 20;

function echoOf(name: string, message: string): string {
  return `I am dev/${name}, the development model. You said: ${message}`;
}

/** Repeats what was said, a token a word. */
export const echo: Behaviour = ({ message }) => say(echoOf('echo', message));

/** The same at twenty tokens a second. */
export const slow: Behaviour = async function* ({ message }, { signal }) {
  const startedAt = performance.now();
  let said = 0;
  for (const token of say(echoOf('slow', message))) {
    const dueMs = startedAt + (said * 1_000) / SLOW_TOKENS_PER_SECOND - performance.now();
    if (dueMs > 0) await sleep(dueMs, undefined, { signal });
    yield token;
    said += 1;
  }
};

/** In turn: answers, refuses before the first token with 503, cuts after three tokens. A retry meets the refusal again. */
export function createFlaky(): Behaviour {
  let calls = 0;
  return async function* ({ message }, { number }) {
    const turn = number > 1 ? 1 : calls++ % 3;
    if (turn === 1) {
      throw statusError(503, 'dev/flaky, the development model, refuses this call', { 'retry-after-ms': String(FLAKY_RETRY_AFTER_MS) });
    }
    let said = 0;
    for (const token of say(echoOf('flaky', message))) {
      if (turn === 2 && said === FLAKY_TOKENS_BEFORE_CUT) throw networkError('ECONNRESET', 'dev/flaky cuts here');
      yield token;
      said += 1;
    }
  };
}
