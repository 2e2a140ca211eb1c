import type { Adapter, Attempt, Ending } from '../model/adapter.ts';
import { createEmbed } from '../embeddings/embeddings-request.ts';
import { addressOf } from '../providers/endpoint.ts';
import type { ProviderSettings } from '../providers/provider-settings.ts';
import { UpstreamError } from '../errors/upstream-error.ts';
import { Exchange } from './exchange.ts';
import type { Origins } from '../http/connection-pool.ts';
import { createDialects } from './dialect.ts';
import { requestBody } from './request-body.ts';

/**
 * Speaks chat completions. The address is that of the settings and nobody else's; a redirect is a refusal, so the key and the
 * headers never leave that origin.
 */
export function createChatAdapter(settings: ProviderSettings, key: string | undefined, origins: Origins): Adapter {
  const endpoint = addressOf(settings, key, '/chat/completions');
  const dialectOf = createDialects(settings, endpoint.host);

  /** Asks as soon as the origin has room. */
  async function ask(attempt: Attempt): Promise<Asked> {
    const { origin, path } = endpoint;
    const headers = attempt.traceparent === undefined ? endpoint.headers : [...endpoint.headers, 'traceparent', attempt.traceparent];
    const body = requestBody(attempt, dialectOf(attempt.request.model.modelId));
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

  /** The arguments of calls as the model meant them. */
  function understood({ request }: Attempt, ending: Ending): Ending {
    if (!dialectOf(request.model.modelId).entities) return ending;
    return { ...ending, calls: ending.calls.map((call) => ({ ...call, text: plainText(call.text) })) };
  }

  return {
    embed: createEmbed(settings, key, origins),

    async *stream(attempt) {
      const { exchange, ended } = await ask(attempt);
      try {
        for (;;) {
          await exchange.more();
          const pieces = exchange.take();
          if (pieces.length === 0 && exchange.over) return understood(attempt, exchange.ending());
          // One by one: `yield*` makes an iterator of promises of a list.
          for (const piece of pieces) yield piece;
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
          if (over) return { text, reasoning, ending: understood(attempt, exchange.ending()) };
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

const NAMED: Readonly<Record<string, string>> = { quot: '"', amp: '&', lt: '<', gt: '>', apos: "'" };
const ENTITY = /&(?:(quot|amp|lt|gt|apos)|#([0-9]{1,7})|#x([0-9a-f]{1,6}));/gi;
const LAST_CODE_POINT = 0x10ffff;

/** What a text says whose writer escaped it as if it stood in a page. Each entity is read once, so `&amp;lt;` is `&lt;`. */
function plainText(text: string): string {
  return text.replaceAll(ENTITY, (whole, name?: string, decimal?: string, hexadecimal?: string) => {
    if (name !== undefined) return NAMED[name.toLowerCase()] ?? whole;
    const code = decimal === undefined ? parseInt(hexadecimal ?? '', 16) : Number(decimal);
    return code <= LAST_CODE_POINT ? String.fromCodePoint(code) : whole;
  });
}
