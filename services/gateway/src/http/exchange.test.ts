import assert from 'node:assert/strict';
import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { Exchange, createExchangeRoute, type ExchangeDeps } from './exchange.ts';

/** The test uses no dependency. */
const NOBODY = {} as ExchangeDeps;

function open(): { exchange: Exchange; response: ServerResponse } {
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  return { exchange: new Exchange(NOBODY, createExchangeRoute('/x', 'rest', {}), { request, response }), response };
}

test('onDisconnect calls back once, also for a client that disconnected earlier', async () => {
  for (const before of [true, false]) {
    const { exchange, response } = open();
    let left = 0;
    const leave = () => once(response.destroy(), 'close');
    if (before) await leave();
    exchange.onDisconnect(() => left++);
    if (!before) await leave();
    assert.deepEqual([left, exchange.answered], [1, true], `left ${before ? 'before' : 'after'}`);
  }
});
