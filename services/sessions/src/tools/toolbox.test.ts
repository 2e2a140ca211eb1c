import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgentConfig, ServiceError, sessions as contract } from '@switchyard/contracts';
import { connectMemory, createBus, createMemoryHub, type Ctx, type Handlers } from '@switchyard/bus';
import { silentLogger } from '@switchyard/telemetry';
import { principal } from '@switchyard/testkit';
import { createToolBox } from './toolbox.ts';

const call = { callId: 'call_1', name: 'session_status', input: {} };

/** The tools of an agent, on a bus where the sessions service answers as the test says. */
async function toolsWith(handlers: Handlers<typeof contract>, config: object = {}, left = 60_000) {
  const bus = createBus(connectMemory(createMemoryHub()), { log: silentLogger(), service: 'sessions' });
  await bus.serve(contract, handlers, { version: '0.0.0' });
  return {
    tools: createToolBox(bus, principal(), AgentConfig.parse(config), { turnId: 'turn_a', remainingMs: () => left }),
    [Symbol.asyncDispose]: () => bus.drain(),
  };
}

test('every tool has a unique name', async () => {
  await using app = await toolsWith({});
  const names = app.tools.specs.map(({ name }) => name);
  assert.ok(names.length > 0);
  assert.equal(new Set(names).size, names.length);
});

test('a hanging tool is abandoned when its turn is stopped', async () => {
  await using app = await toolsWith({
    'session.status': (_, { signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', reject)),
  });
  const stopping = new AbortController();
  const used = app.tools.use(call, { signal: stopping.signal, step: 1 });
  setImmediate(() => stopping.abort());
  assert.match(JSON.stringify((await used).result), /CANCELLED/);
});

test('truncates results and errors alike', async () => {
  const long = '💥'.repeat(100);
  await using app = await toolsWith(
    { 'session.history': () => ({ messages: [{ role: 'user', content: long, timestamp: 1 }] }) },
    { maxToolResultChars: 50 },
  );
  const using = { signal: new AbortController().signal, step: 1 };
  const { result } = await app.tools.use({ ...call, name: 'session_history' }, using);
  assert.match(String(result), /^\{"messages".{0,40}… \[truncated: \d+ of 2\d\d characters removed\]$/su);
  assert.ok(String(result).isWellFormed());
  const refused = await app.tools.use({ ...call, name: 'session_history', input: { ['x'.repeat(500)]: 1 } }, using);
  assert.equal(refused.failed, true);
  assert.match(JSON.stringify(refused.result), /truncated: \d+ of \d+/);
});

const STATUS = { model: 'm', agentName: 'a', tokensUsed: { totalTokens: 0, totalCost: 0 }, stepsExecuted: 0, maxSteps: 1 };

test('calls as the turn’s principal, within its remaining time, under a key of turn, step and position', async () => {
  const received: Pick<Ctx, 'principal' | 'key' | 'deadline'>[] = [];
  await using app = await toolsWith(
    { 'session.status': (_, { principal: who, key, deadline }) => (received.push({ principal: who, key, deadline }), STATUS) },
    {},
    2_000,
  );
  const { signal } = new AbortController();
  await app.tools.use(call, { signal, step: 3 });
  await app.tools.use(call, { signal, step: 4, at: 1 });
  assert.deepEqual(
    received.map(({ key }) => key),
    ['turn_a/3', 'turn_a/4/1'],
  );
  assert.deepEqual(received[0]?.principal, principal());
  assert.ok((received[0]?.deadline ?? Infinity) <= Date.now() + 2_000);
});

test('abandons and cancels a tool that exceeds the remaining time of its turn', async () => {
  const stopped = Promise.withResolvers<void>();
  await using app = await toolsWith(
    {
      'session.status': (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => (stopped.resolve(), reject(new Error('stopped'))))),
    },
    {},
    100,
  );
  const { result, failed } = await app.tools.use(call, { signal: new AbortController().signal, step: 1 });
  assert.equal(failed, true);
  assert.match(JSON.stringify(result), /DEADLINE_EXCEEDED/);
  assert.doesNotMatch(JSON.stringify(result), /OUTCOME_UNKNOWN/, 'of what may be made again nothing is unknown');
  await stopped.promise;
});

test('repeats a call whose replica ended, if it may run twice, and with the same key', async () => {
  const keys: (string | undefined)[] = [];
  let failures = 0;
  let retryable = true;
  await using app = await toolsWith({
    'session.status': (_, { key }) => {
      keys.push(key);
      if (keys.length <= failures) throw new ServiceError('UNAVAILABLE', 'silence', { details: { mayHaveRun: true, retryable } });
      return STATUS;
    },
  });
  const use = async (count: number): Promise<boolean> => {
    keys.length = 0;
    failures = count;
    return (await app.tools.use(call, { signal: new AbortController().signal, step: 1 })).failed;
  };
  assert.deepEqual([await use(2), keys], [false, ['turn_a/1', 'turn_a/1', 'turn_a/1']]);
  assert.deepEqual([await use(9), keys.length], [true, 3]);
  retryable = false;
  assert.deepEqual([await use(1), keys.length], [true, 1]);
});

test('accepts a result of one megabyte and shows its beginning to the model', async () => {
  const content = 'x'.repeat(1_000_000);
  await using app = await toolsWith({ 'session.history': () => ({ messages: [{ role: 'user', content, timestamp: 1 }] }) });
  const { result, failed } = await app.tools.use({ ...call, name: 'session_history' }, { signal: new AbortController().signal, step: 1 });
  assert.equal(failed, false);
  assert.ok(String(result).length < 200_000);
  assert.match(String(result), /… \[truncated: \d+ of 1000\d+ characters removed\]$/);
});
