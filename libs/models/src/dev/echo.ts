import { setTimeout as sleep } from 'node:timers/promises';
import { createTokens, type Behaviour } from './dev-model.ts';
import { networkError, statusError } from './simulated-errors.ts';

const SLOW_TOKENS_PER_SECOND = 20;
const FLAKY_TOKENS_BEFORE_CUT = 3;
const FLAKY_RETRY_AFTER_MS = 20;

function renderEcho(name: string, message: string): string {
  return `I am dev/${name}, the development model. You said: ${message}`;
}

/** Repeats the message, one word per token. */
export const echo: Behaviour = ({ message }) => createTokens(renderEcho('echo', message));

/** Repeats the message at 20 tokens per second. */
export const slow: Behaviour = async function* ({ message }, { signal }) {
  const startedAt = performance.now();
  let sent = 0;
  for (const token of createTokens(renderEcho('slow', message))) {
    const dueMs = startedAt + (sent * 1_000) / SLOW_TOKENS_PER_SECOND - performance.now();
    if (dueMs > 0) await sleep(dueMs, undefined, { signal });
    yield token;
    sent += 1;
  }
};

/** Calls in turn respond, fail with 503 before the first token, and break after three tokens. Retries fail with 503. */
export function createFlaky(): Behaviour {
  let calls = 0;
  return async function* ({ message }, { number }) {
    const turn = number > 1 ? 1 : calls++ % 3;
    if (turn === 1) {
      throw statusError(503, 'dev/flaky, the development model, rejects this call', { 'retry-after-ms': String(FLAKY_RETRY_AFTER_MS) });
    }
    let sent = 0;
    for (const token of createTokens(renderEcho('flaky', message))) {
      if (turn === 2 && sent === FLAKY_TOKENS_BEFORE_CUT) throw networkError('ECONNRESET', 'dev/flaky breaks the stream here');
      yield token;
      sent += 1;
    }
  };
}
