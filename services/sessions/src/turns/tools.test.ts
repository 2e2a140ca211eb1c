import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgentConfig, sessions as contract } from '@switchyard/contracts';
import { connectMemory, createBus, createMemoryHub, type Handlers } from '@switchyard/bus';
import { silentLogger } from '@switchyard/telemetry';
import { principal } from '@switchyard/testkit';
import { toolBox } from './tools.ts';

const call = { callId: 'call_1', name: 'session_status', input: {} };

/** The tools of an agent, on a bus where the sessions service answers as the test says. */
async function toolsWith(handlers: Handlers<typeof contract>, config: object = {}) {
  const bus = createBus(connectMemory(createMemoryHub()), { log: silentLogger(), service: 'sessions' });
  await bus.serve(contract, handlers, { version: '0.0.0' });
  return { tools: toolBox(bus, principal(), AgentConfig.parse(config)), [Symbol.asyncDispose]: () => bus.drain() };
}

test('every tool has a name of its own', async () => {
  await using app = await toolsWith({});
  const names = app.tools.specs.map(({ name }) => name);
  assert.ok(names.length > 0);
  assert.equal(new Set(names).size, names.length);
});

test('a tool that hangs lets go of its turn when the turn is stopped', async () => {
  await using app = await toolsWith({
    'session.status': (_, { signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', reject)),
  });
  const stopping = new AbortController();
  const used = app.tools.use(call, stopping.signal);
  setImmediate(() => stopping.abort());
  assert.match(JSON.stringify((await used).result), /CANCELLED/);
});

test('what a tool answers and what it complains of are cut alike', async () => {
  const long = '💥'.repeat(100);
  await using app = await toolsWith(
    { 'session.history': () => ({ messages: [{ role: 'user', content: long, timestamp: 1 }] }) },
    { maxToolResultChars: 50 },
  );
  const { signal } = new AbortController();
  const { result } = await app.tools.use({ ...call, name: 'session_history' }, signal);
  assert.match(String(result), /^\{"messages".{0,40}… \[cut: \d+ of 2\d\d characters left out\]$/su);
  assert.ok(String(result).isWellFormed());
  const refused = await app.tools.use({ ...call, name: 'session_history', input: { ['x'.repeat(500)]: 1 } }, signal);
  assert.equal(refused.failed, true);
  assert.match(JSON.stringify(refused.result), /cut: \d+ of \d+/);
});
