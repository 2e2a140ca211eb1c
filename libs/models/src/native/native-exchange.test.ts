import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Dispatcher } from 'undici';
import { request } from '../models.fixture.ts';
import { NativeExchange } from './native-exchange.ts';

const MIB = 1024 * 1024;
const TIMEOUT_MS = 1_000;
const EVENTS = { 'content-type': 'text/event-stream' };

/** A connection that counts pauses and resumes. */
class Connection implements Dispatcher.DispatchController {
  readonly reason = null;
  aborted = false;
  pauses = 0;
  resumes = 0;

  get paused(): boolean {
    return this.pauses > this.resumes;
  }

  abort(): void {
    this.aborted = true;
  }

  pause(): void {
    this.pauses += 1;
  }

  resume(): void {
    this.resumes += 1;
  }
}

function begun() {
  const { signal } = new AbortController();
  const attempt = { request: request(), nonStreaming: false, signal, number: 1, onAlive: () => undefined };
  const conversation = new NativeExchange({ provider: 'up', attempt, timeoutMs: TIMEOUT_MS });
  const controller = new Connection();
  conversation.onRequestStart(controller);
  return { conversation, controller };
}

test('pauses the socket until the response is read', async () => {
  const { conversation, controller } = begun();
  conversation.onResponseStart(controller, 200, EVENTS);
  const reader = (await conversation.response).body?.getReader() ?? assert.fail();
  conversation.onResponseData(controller, Buffer.alloc(MIB / 8));
  assert.equal(controller.pauses, 0);
  conversation.onResponseData(controller, Buffer.alloc(MIB / 8));
  assert.equal(controller.pauses, 1);
  const { resumes } = controller;
  await reader.read();
  await reader.read();
  assert.ok(controller.resumes > resumes);
});

test('limits the size of the response', async () => {
  const { conversation, controller } = begun();
  conversation.onResponseStart(controller, 200, EVENTS);
  const { body } = await conversation.response;
  const piece = Buffer.alloc(MIB);
  for (let n = 0; n < 64; n++) conversation.onResponseData(controller, piece);
  assert.deepEqual([conversation.failure, controller.aborted], [undefined, false]);
  conversation.onResponseData(controller, Buffer.alloc(1));
  assert.equal(controller.aborted, true);
  await assert.rejects(async () => body?.getReader().read(), /sent more than 67108864 bytes/);
});

test('times out a response that does not start', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const late = begun();
  late.conversation.onConnected(() => undefined);
  const inTime = begun();
  inTime.conversation.onConnected(() => undefined);
  t.mock.timers.tick(TIMEOUT_MS - 1);
  assert.equal(late.controller.aborted, false);
  inTime.conversation.onResponseStart(inTime.controller, 200, EVENTS);
  t.mock.timers.tick(1);
  await assert.rejects(late.conversation.response, { message: `no response within ${TIMEOUT_MS} ms` });
  assert.deepEqual([late.controller.aborted, inTime.controller.aborted, inTime.conversation.failure], [true, false, undefined]);
});
