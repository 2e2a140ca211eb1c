import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import { SECRETS, type Answer, type TestSocket } from '../gateway.fixture.ts';
import { RESULT, startTestTurns, type TestTurn, type TestTurns } from '../turns/turns.fixture.ts';

interface Frame {
  n: number;
  type: string;
  text?: string;
}

/** A started turn. */
async function begin(t: TestTurns): Promise<TestTurn> {
  const started = t.next();
  const response = await t.stream('message=hi');
  await response.body?.cancel();
  return started;
}

function attach(socket: TestSocket, turnId: string, after?: number): void {
  const params = { turnId, ...(after === undefined ? {} : { after }) };
  socket.send(JSON.stringify({ jsonrpc: '2.0', id: 'a', method: 'agent.attach', params }));
}

async function frame(socket: TestSocket, turnId: string): Promise<Frame> {
  const { method, params } = await socket.next();
  const message = params as { turnId: string; frame: Frame };
  assert.deepEqual([method, message.turnId], ['agent.frame', turnId]);
  return message.frame;
}

/** All frames up to the response, and the response. */
async function readAll(socket: TestSocket, turnId: string): Promise<{ frames: Frame[]; answer: Answer }> {
  const frames: Frame[] = [];
  for (;;) {
    const message = await socket.next();
    if (message.method === undefined) return { frames, answer: message };
    const received = message.params as { turnId: string; frame: Frame };
    assert.equal(received.turnId, turnId);
    frames.push(received.frame);
  }
}

const joinText = (frames: readonly Frame[]): string => frames.map(({ text = '' }) => text).join('');
const getNumbers = (frames: readonly Frame[]): number[] => frames.map(({ n }) => n);

test('agent.attach sends every frame and then the result', async () => {
  await using t = await startTestTurns();
  const turn = await begin(t);
  const socket = await t.gateway.connect(SECRETS.rpc);
  turn.sendText('one ');
  attach(socket, turn.id);
  assert.equal((await frame(socket, turn.id)).type, 'accepted');
  assert.deepEqual(await frame(socket, turn.id), { n: 1, type: 'delta', text: 'one ' });
  turn.sendText('two ');
  turn.emit({ type: 'step', step: 2, fence: 7 });
  turn.sendText('three');
  turn.done();
  const { frames, answer } = await readAll(socket, turn.id);
  assert.deepEqual(frames, [
    { n: 2, type: 'delta', text: 'two ' },
    { n: 3, type: 'step', step: 2 },
    { n: 4, type: 'delta', text: 'three' },
  ]);
  assert.deepEqual([answer.id, answer.result], ['a', { ...RESULT, sessionKey: 'default:rpc:gateway', turnId: turn.id }]);
});

test('agent.attach resumes after the given frame and then streams live frames', async () => {
  await using t = await startTestTurns();
  const turn = await begin(t);
  turn.sendText('one ', 'two ', 'three ');
  for (let after = 0; after <= 3; after++) {
    const socket = await t.gateway.connect(SECRETS.rpc);
    attach(socket, turn.id, after);
    for (let n = after + 1; n <= 3; n++) assert.equal((await frame(socket, turn.id)).n, n);
    socket.socket.terminate();
  }
  const socket = await t.gateway.connect(SECRETS.rpc);
  attach(socket, turn.id, 2);
  turn.sendText('four');
  turn.done();
  const { frames, answer } = await readAll(socket, turn.id);
  assert.deepEqual([getNumbers(frames), joinText(frames)], [[3, 4], 'three four']);
  assert.ok(answer.result);
  attach(socket, turn.id, 4);
  assert.deepEqual((await readAll(socket, turn.id)).frames, [], 'only the result was missing');
});

test('agent.attach replaces the text after a takeover', async () => {
  await using t = await startTestTurns((turn) => {
    for (const text of ['one ', 'twice ']) turn.emit({ type: 'delta', fence: 7, text });
    turn.emit({ type: 'resumed', fence: 9, text: 'one ' });
    turn.emit({ type: 'delta', fence: 9, text: 'two' });
    turn.emit({ type: 'done', fence: 9, result: RESULT });
  });
  const turn = await begin(t);
  const socket = await t.gateway.connect(SECRETS.rpc);
  attach(socket, turn.id, 1);
  const { frames } = await readAll(socket, turn.id);
  assert.deepEqual(frames.slice(-2), [
    { n: 3, type: 'resumed', text: 'one ' },
    { n: 4, type: 'delta', text: 'two' },
  ]);
});

test('agent.attach returns the failure of a failed turn', async () => {
  await using t = await startTestTurns();
  const turn = await begin(t);
  turn.fail({ code: 'UNAVAILABLE', message: 'The model is away.', details: { secret: 'x', turnId: turn.id } });
  const socket = await t.gateway.connect(SECRETS.rpc);
  attach(socket, turn.id);
  const { error } = (await readAll(socket, turn.id)).answer;
  assert.deepEqual(
    [error?.code, error?.message, error?.data?.['code'], error?.data?.['secret']],
    [-32603, 'The model is away.', 'UNAVAILABLE', undefined],
  );
});

test('agent.attach returns NOT_FOUND for a turn of another client', async () => {
  await using t = await startTestTurns();
  const turn = await begin(t);
  turn.sendText('mine');
  const errors = new Set<string>();
  const socket = await t.gateway.connect(SECRETS.all);
  for (const turnId of [turn.id, mintId('turn')]) {
    attach(socket, turnId);
    const { frames, answer } = await readAll(socket, turnId);
    assert.deepEqual(frames, []);
    const { requestId: _, ...data } = answer.error?.data ?? {};
    errors.add(JSON.stringify([answer.error?.code, answer.error?.message, data]));
  }
  assert.deepEqual([...errors], ['[-32603,"There is no such turn.",{"code":"NOT_FOUND","retryable":false}]']);
});

test('agent.attach validates its params and requires its scope', async () => {
  await using t = await startTestTurns();
  const socket = await t.gateway.connect(SECRETS.rpc);
  const wrong = [
    [{}, 'turnId: expected string, got nothing'],
    [{ turnId: mintId('turn'), after: -1 }, 'after: expected'],
    [{ turnId: 'turn_1' }, 'turnId: expected'],
    [{ turnId: mintId('turn'), x: 1 }, 'x: expected no such parameter'],
  ] as const;
  for (const [params, expected] of wrong) {
    const { error } = await socket.request({ jsonrpc: '2.0', id: 1, method: 'agent.attach', params });
    assert.equal(error?.code, -32602);
    assert.ok(error.message.includes(expected), error.message);
  }
  const adminSocket = await t.gateway.connect(SECRETS.admin);
  const { error } = await adminSocket.request({ jsonrpc: '2.0', id: 1, method: 'agent.attach', params: { turnId: mintId('turn') } });
  assert.equal(error?.data?.['reason'], 'FORBIDDEN');
});

test('disconnecting stops the reader but not the turn', async () => {
  await using t = await startTestTurns();
  const turn = await begin(t);
  const socket = await t.gateway.connect(SECRETS.rpc);
  attach(socket, turn.id);
  await frame(socket, turn.id);
  socket.socket.terminate();
  await socket.closed;
  turn.sendText('later');
  turn.done();
  const second = await t.gateway.connect(SECRETS.rpc);
  attach(second, turn.id, 0);
  assert.equal(joinText((await readAll(second, turn.id)).frames), 'later');
});

test('agent.attach stops when the token is revoked', async () => {
  await using t = await startTestTurns();
  const turn = await begin(t);
  const socket = await t.gateway.connect(SECRETS.rpc);
  attach(socket, turn.id);
  await frame(socket, turn.id);
  await t.gateway.removeToken('rpc');
  turn.sendText('secret');
  assert.equal((await socket.closed).code, 4001);
});

test('agent.attach over HTTP returns only the result', async () => {
  const handlers = {
    'agent.attach': () => {
      throw new ServiceError('NOT_FOUND', 'asked of the owner');
    },
  };
  await using t = await startTestTurns(undefined, { handlers });
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'agent.attach', params: { turnId: mintId('turn') } });
  const { error } = (await (await t.gateway.post('/rpc', body, { token: SECRETS.rpc })).json()) as Answer;
  assert.equal(error?.message, 'asked of the owner');
});
