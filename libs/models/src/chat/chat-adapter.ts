import type { Adapter, Attempt, Ending } from '../model/adapter.ts';
import { createEmbed } from '../embeddings/embeddings-request.ts';
import { resolveEndpoint } from '../providers/endpoint.ts';
import type { ProviderSettings } from '../providers/provider-settings.ts';
import { UpstreamError } from '../errors/upstream-error.ts';
import { Exchange } from './exchange.ts';
import type { ConnectionPool } from '../http/connection-pool.ts';
import { createDialects } from './dialect.ts';
import { buildRequestBody } from './request-body.ts';

/**
 * Creates an adapter for the chat completions API. Requests go to the configured address only. Redirects are rejected, so the key and
 * the headers never leave that origin.
 */
export function createChatAdapter(settings: ProviderSettings, key: string | undefined, origins: ConnectionPool): Adapter {
  const endpoint = resolveEndpoint(settings, key, '/chat/completions');
  const getDialect = createDialects(settings, endpoint.host);

  /** Sends the request. Waits for a free slot of the origin. */
  async function startExchange(attempt: Attempt): Promise<StartedExchange> {
    const { origin, path } = endpoint;
    const headers = attempt.traceparent === undefined ? endpoint.headers : [...endpoint.headers, 'traceparent', attempt.traceparent];
    const body = buildRequestBody(attempt, getDialect(attempt.request.model.modelId));
    const limit = origins.getLimit(origin);
    const waiting = limit.acquire(attempt.signal);
    if (waiting !== undefined) await waiting;
    const exchange = new Exchange({
      provider: settings.id,
      nonStreaming: attempt.nonStreaming,
      onAlive: attempt.onAlive,
      onClosed: () => origins.release(origin, limit),
    });
    const timeouts = failOnAbortOrTimeout(attempt, exchange, settings.timeoutMs);
    origins.dispatch({ origin, path, headers, method: 'POST', body }, exchange);
    return { exchange, timeouts };
  }

  /** Decodes HTML entities in tool arguments, if the model encodes them. */
  function decodeCalls({ request }: Attempt, ending: Ending): Ending {
    if (!getDialect(request.model.modelId).htmlEntities) return ending;
    return { ...ending, calls: ending.calls.map((call) => ({ ...call, text: decodeHtmlEntities(call.text) })) };
  }

  return {
    embed: createEmbed(settings, key, origins),

    async *stream(attempt) {
      const { exchange, timeouts } = await startExchange(attempt);
      try {
        for (;;) {
          await exchange.waitForData();
          const pieces = exchange.take();
          if (pieces.length === 0 && exchange.isOver) return decodeCalls(attempt, exchange.getEnding());
          // `yield*` would create an async iterator for the list.
          for (const piece of pieces) yield piece;
        }
      } finally {
        timeouts[Symbol.dispose]();
        exchange.release();
      }
    },

    async complete(attempt) {
      const { exchange, timeouts } = await startExchange(attempt);
      let [text, reasoning] = ['', ''];
      try {
        for (;;) {
          await exchange.waitForData();
          const { isOver: over } = exchange;
          for (const piece of exchange.take()) {
            if (piece.type === 'text') text += piece.text;
            else reasoning += piece.text;
          }
          if (over) return { text, reasoning, ending: decodeCalls(attempt, exchange.getEnding()) };
        }
      } finally {
        timeouts[Symbol.dispose]();
        exchange.release();
      }
    },
  };
}

/** A running exchange and the disposer of its timers. */
interface StartedExchange {
  exchange: Exchange;
  timeouts: Disposable;
}

/** Fails the exchange on abort, or if no response starts in time. Non-streaming responses have no start timeout. */
function failOnAbortOrTimeout({ signal, nonStreaming }: Attempt, exchange: Exchange, timeoutMs: number): Disposable {
  const onAbort = (): void => exchange.fail(signal.reason);
  const onTimeout = (): void => {
    const cause = Object.assign(new Error(`no response within ${timeoutMs} ms`), { code: 'ETIMEDOUT' });
    if (!exchange.hasHead) exchange.fail(new UpstreamError(cause.message, { cause }));
  };
  const timer = nonStreaming ? undefined : setTimeout(onTimeout, timeoutMs);
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  return {
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    },
  };
}

const NAMED: Readonly<Record<string, string>> = { quot: '"', amp: '&', lt: '<', gt: '>', apos: "'" };
const ENTITY = /&(?:(quot|amp|lt|gt|apos)|#([0-9]{1,7})|#x([0-9a-f]{1,6}));/gi;
const LAST_CODE_POINT = 0x10ffff;

/** Decodes HTML entities once: `&amp;lt;` becomes `&lt;`. */
function decodeHtmlEntities(text: string): string {
  return text.replaceAll(ENTITY, (fullText, name?: string, decimal?: string, hexadecimal?: string) => {
    if (name !== undefined) return NAMED[name.toLowerCase()] ?? fullText;
    const code = decimal === undefined ? parseInt(hexadecimal ?? '', 16) : Number(decimal);
    return code <= LAST_CODE_POINT ? String.fromCodePoint(code) : fullText;
  });
}
