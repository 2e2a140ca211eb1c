import { once } from 'node:events';
import { createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Time between two groups of events. */
const PERIOD_MS = 10;

/** A gateway in front of the product whose event stream has a chosen rate. Turns at this rate would use the cores that the page needs. */
export interface EventProxy extends AsyncDisposable {
  url: string;
  /** Publishes numbered events and returns how many. */
  publish(eventsPerSecond: number, seconds: number): Promise<number>;
}

/** Forwards all requests to the product but those for events. */
export async function startEventProxy(product: string): Promise<EventProxy> {
  const streams = new Set<ServerResponse>();
  const server = createServer((incoming, response) => {
    if (incoming.url === '/api/events') {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
      response.flushHeaders();
      streams.add(response);
      response.once('close', () => streams.delete(response));
      return;
    }
    const { origin: _origin, ...headers } = incoming.headers;
    const options = { method: incoming.method, headers: { ...headers, host: new URL(product).host } };
    const forwarded = request(product + (incoming.url ?? '/'), options, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    forwarded.once('error', () => response.destroy());
    incoming.pipe(forwarded);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async publish(eventsPerSecond, seconds) {
      while (streams.size === 0) await sleep(PERIOD_MS);
      let published = 0;
      const startedAt = performance.now();
      while (published < eventsPerSecond * seconds) {
        const due = Math.min(seconds, (performance.now() - startedAt) / 1_000) * eventsPerSecond;
        let text = '';
        for (; published < due; published += 1) text += formatEvent(published + 1);
        if (text !== '') for (const stream of streams) stream.write(text);
        await sleep(PERIOD_MS);
      }
      return published;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** An event with the size of those that a turn publishes. */
function formatEvent(number: number): string {
  const payload = {
    number,
    timestamp: Date.now(),
    sessionKey: `default:bench:session-${number % 100}`,
    messageId: `msg_${number}`,
    channel: 'gateway',
  };
  return `id: ${number}\nevent: message:sent\ndata: ${JSON.stringify(payload)}\n\n`;
}
