import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { encodeFault } from './json-rpc-responses.ts';
import { runBatch, type BatchOptions } from './batch.ts';
import type { CallOrigin } from './call-context.ts';
import { INVALID_REQUEST, NO_PARAMS, type Item, type RpcRequest } from './envelope.ts';

const origin = { requestId: 'req_1', traceparent: undefined } as CallOrigin;

const refuse: BatchOptions['refuse'] = (fault, { requestId }, { id }) => encodeFault(fault, requestId, id);
const request = (method: string, id?: string): RpcRequest => ({ fault: undefined, method, id, params: NO_PARAMS });
const requests = (count: number): RpcRequest[] => Array.from({ length: count }, (_, index) => request(`m.${index}`, String(index)));

/** A batch whose calls are completed by the test. */
function start(items: Item[], immediately = false) {
  const running = new Map<string, (text?: string) => void>();
  const started: string[] = [];
  const cancelled: string[] = [];
  const answers: (string | undefined)[] = [];
  const run: BatchOptions['run'] = ({ method, id }, _from, onResponse) => {
    started.push(method);
    const finish = (text = `"${method}"`): void => {
      running.delete(method);
      onResponse(id === undefined ? undefined : Buffer.from(text));
    };
    if (immediately) finish();
    else running.set(method, finish);
    return () => cancelled.push(method);
  };
  const cancel = runBatch(items, { origin, run, refuse, onResponse: (answer) => answers.push(answer?.toString()) });
  const finish = (method: string, text?: string): void => running.get(method)?.(text);
  return { running, started, cancelled, answers, cancel, finish };
}

describe('a batch', () => {
  test('returns its responses once, in order, when calls complete out of order', () => {
    const { finish, answers } = start([request('m.a', '1'), { fault: INVALID_REQUEST, id: 'null' }, request('m.b', '2')]);
    finish('m.b');
    assert.deepEqual(answers, []);
    finish('m.a');
    assert.equal(answers.length, 1);
    const [first, second, third] = JSON.parse(answers[0] ?? '') as unknown[];
    assert.deepEqual([first, third], ['m.a', 'm.b']);
    assert.equal((second as { error: { code: number } }).error.code, -32600);
  });

  test('runs eight calls at a time', () => {
    const { running, started, finish, answers } = start(requests(20));
    assert.equal(started.length, 8);
    finish('m.3');
    assert.equal(started.length, 9);
    while (running.size > 0) {
      assert.ok(running.size <= 8);
      for (const method of running.keys()) finish(method);
    }
    assert.deepEqual(
      JSON.parse(answers[0] ?? ''),
      requests(20).map(({ method }) => method),
    );
  });

  test('with ten thousand synchronous calls does not overflow the stack', () => {
    const { answers } = start(requests(10_000), true);
    assert.equal((JSON.parse(answers[0] ?? '') as unknown[]).length, 10_000);
  });

  test('does not wait for notifications', () => {
    const { finish, answers, running } = start([request('m.note'), request('m.a', '1')]);
    finish('m.a');
    assert.deepEqual(answers, ['["m.a"]']);
    assert.ok(running.has('m.note'));
  });

  test('without requests runs all notifications and returns no response', () => {
    const { answers, started, finish } = start(Array.from({ length: 10 }, (_, index) => request(`n.${index}`)));
    assert.deepEqual(answers, [undefined]);
    assert.equal(started.length, 8);
    finish('n.0');
    finish('n.1');
    assert.equal(started.length, 10);
  });

  test('omits responses above the total size limit and runs no further requests', () => {
    const { finish, answers, started } = start([...requests(12), request('m.note')]);
    const large = JSON.stringify('x'.repeat(3 * 1024 * 1024));
    for (const { method } of requests(10)) finish(method, large);
    const codes = (JSON.parse(answers[0] ?? '') as (string | { error: { data: { reason: string } } })[]).map((answer) =>
      typeof answer === 'string' ? answer.length : answer.error.data.reason,
    );
    assert.equal(codes.length, 12);
    assert.equal(codes.filter((code) => code === 3 * 1024 * 1024).length, 2);
    assert.equal(codes.filter((code) => code === 'PAYLOAD_TOO_LARGE').length, 10);
    assert.deepEqual(started.slice(10), ['m.note'], 'the last two requests are not run, the notification is');
  });

  test('cancels requests but not notifications when the client disconnects', () => {
    const { cancel, cancelled, started, finish, answers } = start([...requests(8), request('m.never', '9'), request('m.note')]);
    cancel();
    assert.equal(cancelled.length, 8);
    assert.ok(started.includes('m.note') && !started.includes('m.never'));
    for (const method of ['m.0', 'm.1', 'm.note']) finish(method);
    assert.deepEqual(answers, []);
  });
});
