import type { Adapter, Attempt } from '../adapter.ts';
import { notConfigured } from '../failure.ts';
import type { ProviderSettings } from '../provider-settings.ts';
import { UpstreamError } from '../upstream-error.ts';
import { Exchange } from './exchange.ts';
import type { Origins } from './origins.ts';
import { requestBody, type BodyOptions } from './request-body.ts';

/** Where completions are asked for, and with what. The same for every call of a provider while it is configured the same. */
interface Endpoint {
  origin: string;
  path: string;
  headers: string[];
  body: BodyOptions;
}

/**
 * Speaks chat completions. The address is that of the settings and nobody else's; a redirect is a refusal, so the key and the
 * headers never leave that origin.
 */
export function createChatAdapter(settings: ProviderSettings, key: string | undefined, origins: Origins): Adapter {
  const endpoint = endpointOf(settings, key);

  /** Asks as soon as the origin has room. */
  async function ask(attempt: Attempt): Promise<Asked> {
    const { origin, path } = endpoint;
    const headers = attempt.traceparent === undefined ? endpoint.headers : [...endpoint.headers, 'traceparent', attempt.traceparent];
    const body = requestBody(attempt, endpoint.body);
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

function endpointOf({ id, baseUrl, headers, keyName }: ProviderSettings, key: string | undefined): Endpoint {
  if (!URL.canParse(baseUrl)) {
    throw notConfigured('PROVIDER_NOT_CONFIGURED', `provider ${id} has no usable address: set providers.entries.${id}.baseUrl`);
  }
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key)) {
    throw notConfigured('PROVIDER_AUTH', `the secret ${keyName ?? ''} has characters that are in no key: set it again`);
  }
  const { origin, host, pathname, search } = new URL(baseUrl);
  return {
    origin,
    path: `${pathname.replace(/\/+$/, '')}/chat/completions${search}`,
    headers: headersOf(id, headers, key),
    // The current models of OpenAI itself refuse `max_tokens`; everybody else's servers know nothing but that.
    body: { limitName: host === 'api.openai.com' ? 'max_completion_tokens' : 'max_tokens' },
  };
}

/** Of the message itself, not of the provider: whoever sends it says these. */
const OURS = new Set(['connection', 'content-length', 'expect', 'host', 'keep-alive', 'te', 'transfer-encoding', 'upgrade']);

/** Names and values in turn. Those of the settings come before ours. */
function headersOf(id: string, configured: Readonly<Record<string, string>>, key: string | undefined): string[] {
  const all = new Map([
    ['content-type', 'application/json'],
    ['accept', 'text/event-stream, application/json'],
    ['user-agent', 'switchyard'],
    ...(key === undefined ? [] : [['authorization', `Bearer ${key}`] as const]),
  ]);
  for (const [written, value] of Object.entries(configured)) {
    const name = written.toLowerCase();
    if (!/^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(name) || OURS.has(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
      throw notConfigured(
        'PROVIDER_NOT_CONFIGURED',
        `providers.entries.${id}.headers: ${written} cannot be sent; leave it out or write it anew`,
      );
    }
    all.set(name, value);
  }
  return [...all].flat();
}
