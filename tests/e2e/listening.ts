import { once } from 'node:events';
import { EventSource } from 'eventsource';

/** A received server-sent event. */
export interface Received {
  id: string;
  name: string;
  data: Record<string, unknown>;
}

/** An EventSource that records its events. */
export interface Listening extends Disposable {
  readonly receivedMessages: readonly Received[];
  /** The status of each connection. */
  readonly statuses: readonly number[];
  /** Resolves with the first matching event, past or future. */
  until(like: (event: Received) => boolean): Promise<Received>;
  /** Breaks the connection. The EventSource reconnects. */
  cut(): void;
  /** Resolves when the EventSource stops reconnecting. */
  stopped: Promise<void>;
}

export function isNamed(...names: string[]): (event: Received) => boolean {
  return ({ name }) => names.includes(name);
}

/** Reads a stream as a browser does. `lastEventId` resumes an earlier stream. */
export function listen(url: string, lastEventId?: string): Listening {
  const heard: Received[] = [];
  const statuses: number[] = [];
  const news = new EventTarget();
  const stopped = Promise.withResolvers<void>();
  let breaker = new AbortController();

  const source = new EventSource(url, {
    async fetch(address, init) {
      breaker = new AbortController();
      const headers = { ...init.headers, ...(lastEventId === undefined || heard.length > 0 ? {} : { 'last-event-id': lastEventId }) };
      const response = await fetch(address, { ...init, headers, signal: AbortSignal.any([init.signal as AbortSignal, breaker.signal]) });
      statuses.push(response.status);
      return response;
    },
  });
  for (const name of ['token', 'resumed', 'done', 'error']) {
    source.addEventListener(name, (event) => {
      if (source.readyState === EventSource.CLOSED) stopped.resolve();
      if (!(event instanceof MessageEvent)) return;
      heard.push({ id: event.lastEventId, name, data: JSON.parse(String(event.data)) as Record<string, unknown> });
      news.dispatchEvent(new Event('news'));
    });
  }
  return {
    receivedMessages: heard,
    statuses,
    async until(like) {
      for (;;) {
        const found = heard.find(like);
        if (found) return found;
        await once(news, 'news');
      }
    },
    cut: () => breaker.abort(new TypeError('the network broke')),
    stopped: stopped.promise,
    [Symbol.dispose]: () => source.close(),
  };
}
