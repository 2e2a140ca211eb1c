import assert from 'node:assert/strict';
import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { Exchange, createExchangeRoute, type ExchangeDeps } from './exchange.ts';

/** The test uses no dependency. */
const NO_DEPS = {} as ExchangeDeps;

function open(): { exchange: Exchange; response: ServerResponse } {
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  return { exchange: new Exchange(NO_DEPS, createExchangeRoute('/x', 'rest', {}), { request, response }), response };
}

test('onDisconnect calls back once, also for a client that disconnected earlier', async () => {
  for (const before of [true, false]) {
    const { exchange, response } = open();
    let disconnects = 0;
    const disconnect = () => once(response.destroy(), 'close');
    if (before) await disconnect();
    exchange.onDisconnect(() => disconnects++);
    if (!before) await disconnect();
    assert.deepEqual([disconnects, exchange.isAnswered], [1, true], `disconnected ${before ? 'before' : 'after'}`);
  }
});
