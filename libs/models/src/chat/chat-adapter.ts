import type { Adapter, Attempt } from '../adapter.ts';
import { createEmbed } from '../embeddings/create-embed.ts';
import { addressOf } from '../endpoint.ts';
import type { ProviderSettings } from '../provider-settings.ts';
import { UpstreamError } from '../upstream-error.ts';
import { Exchange } from './exchange.ts';
import type { Origins } from './origins.ts';
import { requestBody, type BodyOptions } from './request-body.ts';

/**
 * Speaks chat completions. The address is that of the settings and nobody else's; a redirect is a refusal, so the key and the
 * headers never leave that origin.
 */
export function createChatAdapter(settings: ProviderSettings, key: string | undefined, origins: Origins): Adapter {
  const endpoint = addressOf(settings, key, '/chat/completions');
  const options: BodyOptions = {
    // The current models of OpenAI itself refuse `max_tokens`; everybody else's servers know nothing but that.
    limitName: endpoint.host === 'api.openai.com' ? 'max_completion_tokens' : 'max_tokens',
  };

  /** Asks as soon as the origin has room. */
  async function ask(attempt: Attempt): Promise<Asked> {
    const { origin, path } = endpoint;
    const headers = attempt.traceparent === undefined ? endpoint.headers : [...endpoint.headers, 'traceparent', attempt.traceparent];
    const body = requestBody(attempt, options);
    const gate = origins.gate(origin);
    const waiting = gate.enter(attempt.signal);
    if (waiting !== undefined) await waiting;
    const exchange = new Exchange({
      provider: settings.id,
      whole: attempt.whole,
      onAlive: attempt.onAlive,
      onClosed: () => origins.left(origin, gate),
    });
    const ended = endEarly(attempt, exchange, settings.timeoutMs);
    origins.dispatch({ origin, path, headers, method: 'POST', body }, exchange);
    return { exchange, ended };
  }

  return {
    embed: createEmbed(settings, key, origins),

    async *stream(attempt) {
      const { exchange, ended } = await ask(attempt);
      try {
        for (;;) {
          await exchange.more();
          const pieces = exchange.take();
          if (pieces.length === 0 && exchange.over) return exchange.ending();
          yield* pieces;
        }
      } finally {
        ended[Symbol.dispose]();
        exchange.leave();
      }
    },

    async whole(attempt) {
      const { exchange, ended } = await ask(attempt);
      let [text, reasoning] = ['', ''];
      try {
        for (;;) {
          await exchange.more();
          const { over } = exchange;
          for (const piece of exchange.take()) {
            if (piece.type === 'text') text += piece.text;
            else reasoning += piece.text;
          }
          if (over) return { text, reasoning, ending: exchange.ending() };
        }
      } finally {
        ended[Symbol.dispose]();
        exchange.leave();
      }
    },
  };
}

/** An exchange under way, and what ends it early. */
interface Asked {
  exchange: Exchange;
  ended: Disposable;
}

/** The caller's leaving ends an exchange, and so does an answer that does not begin in time. A whole one begins when it ends. */
function endEarly({ signal, whole }: Attempt, exchange: Exchange, timeoutMs: number): Disposable {
  const leave = (): void => exchange.fail(signal.reason);
  const late = (): void => {
    const cause = Object.assign(new Error(`no answer within ${timeoutMs} ms`), { code: 'ETIMEDOUT' });
    if (!exchange.answered) exchange.fail(new UpstreamError(cause.message, { cause }));
  };
  const timer = whole ? undefined : setTimeout(late, timeoutMs);
  if (signal.aborted) leave();
  else signal.addEventListener('abort', leave, { once: true });
  return {
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', leave);
    },
  };
}
