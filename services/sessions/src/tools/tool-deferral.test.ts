import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgentConfig, type OfferedTool } from '@switchyard/contracts';
import { connectMemory, createBus, createMemoryHub } from '@switchyard/bus';
import type { ModelAnswer, ModelEnd, ModelRequest } from '@switchyard/models';
import { silentLogger } from '@switchyard/telemetry';
import { principal } from '@switchyard/testkit';
import { runAgentLoop } from '../agent-loop/agent-loop.ts';
import { getAgentLimits } from '../agent-loop/turn-planner.ts';
import type { ModelAccess } from '../agents/model-access.ts';
import { buildResumeState, type CheckpointEntry } from '../model/checkpoint-log.ts';
import { listDeclaredTools } from './tool-catalog.ts';
import { MAX_SCHEMA_BYTES } from './tool-deferral.ts';
import { listDiscovered } from './tool-discovery.ts';
import { createToolBox, type ToolTurn } from './toolbox.ts';

/** Creates the tools of an agent for which every service of the contracts is served. */
function createTools(config: object = {}, turn: Partial<ToolTurn> = {}) {
  const bus = createBus(connectMemory(createMemoryHub()), { log: silentLogger(), service: 'sessions' });
  const toolTurn = { turnId: 'turn_a', remainingMs: () => 60_000, declared: listDeclaredTools(), ...turn };
  return createToolBox(bus, principal(), AgentConfig.parse(config), toolTurn);
}

const getNames = ({ specs }: { specs: readonly { name: string }[] }): string[] => specs.map(({ name }) => name);
const getBytes = (specs: unknown): number => Buffer.byteLength(JSON.stringify(specs));

/** A model double that calls these tools in turn and records the tools of each request. */
function createModel(...steps: { name: string; input: unknown }[]): ModelAccess & { requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  return {
    requests,
    streamTo: (): Promise<ModelEnd> => assert.fail('the turn has no reader'),
    async complete(request): Promise<ModelAnswer> {
      const step = steps[requests.length];
      requests.push({ ...request, tools: [...(request.tools ?? [])] });
      const calls = step ? [{ callId: `call_${requests.length}`, ...step, text: JSON.stringify(step.input) }] : [];
      return { text: 'done', reasoning: '', calls, reason: step ? 'tool-calls' : 'stop', usage: { input: 1, output: 1 }, costUsd: 0 };
    },
  };
}

async function runTurn(model: ModelAccess, config: object, tools = createTools(config)): Promise<CheckpointEntry[]> {
  const checkpoints: CheckpointEntry[] = [];
  const turn = runAgentLoop(model, {
    ...getAgentLimits({ config: AgentConfig.parse(config) } as never),
    model: { provider: 'double', modelId: 'm' },
    messages: [{ role: 'user', text: 'hello' }],
    tools,
    signal: new AbortController().signal,
    onCheckpoint: async (entry) => void checkpoints.push(entry),
  });
  while (!(await turn.next()).done);
  return checkpoints;
}

test('a request of a default agent carries at most 8 KB of tool schemas with every service declared', async () => {
  const model = createModel();
  await runTurn(model, {});
  const [request] = model.requests;
  assert.ok(listDeclaredTools().length > 60 && getBytes(listDeclaredTools().map(({ spec }) => spec)) > 3 * MAX_SCHEMA_BYTES);
  const bytes = getBytes(request?.tools);
  assert.ok(bytes <= MAX_SCHEMA_BYTES && bytes > MAX_SCHEMA_BYTES / 2, `${bytes} bytes`);
  const names = getNames({ specs: request?.tools ?? [] });
  for (const name of ['session_search', 'memory_search', 'read', 'write', 'ls', 'discover']) assert.ok(names.includes(name), name);
});

test('discover finds every tool that a request leaves out, and the next request carries it', async () => {
  const visible = new Set(getNames(createTools()));
  const deferred = listDeclaredTools().filter(({ name }) => !visible.has(name));
  assert.ok(deferred.length > 20);
  for (const { name, spec } of deferred) {
    const model = createModel({ name: 'discover', input: { query: `${name} ${spec.description}` } });
    await runTurn(model, {});
    assert.ok(!getNames({ specs: model.requests[0]?.tools ?? [] }).includes(name));
    assert.ok(getNames({ specs: model.requests[1]?.tools ?? [] }).includes(name), name);
  }
});

test('discover finds tools by the words of a task, best match first', async () => {
  const discover = async (query: string) => {
    const { result } = await createTools().use({ name: 'discover', input: { query } }, { signal: new AbortController().signal, step: 1 });
    return (result as { tools: { name: string }[] }).tools.map(({ name }) => name);
  };
  assert.equal((await discover('take a screenshot of the page'))[0], 'browser_screenshot');
  assert.ok((await discover('transcribe an audio recording')).includes('transcribe_audio'));
  assert.ok((await discover('graph execute')).slice(0, 2).includes('graph_execute'));
  assert.deepEqual(await discover('zzz'), []);
});

test('a resumed turn keeps the tools that it had discovered', async () => {
  const checkpoints = await runTurn(createModel({ name: 'discover', input: { query: 'browser screenshot' } }), {});
  const resumed = createTools({}, { discovered: listDiscovered(buildResumeState(checkpoints).messages) });
  assert.ok(getNames(resumed).includes('browser_screenshot'));
});

test('deferredTools.mode decides: never defers nothing, always defers all but neverDefer, auto defers alwaysDefer', () => {
  const all = listDeclaredTools().length;
  assert.equal(getNames(createTools({ deferredTools: { mode: 'never', alwaysDefer: ['read'] } })).length, all);
  assert.deepEqual(getNames(createTools({ deferredTools: { mode: 'always', neverDefer: ['graph.define', 'ls'] } })), [
    'graph_define',
    'ls',
    'discover',
  ]);
  const auto = getNames(createTools({ deferredTools: { alwaysDefer: ['group:memory'], neverDefer: ['browser_act'] } }));
  assert.deepEqual([auto.includes('memory_search'), auto.includes('browser_act'), auto.includes('discover')], [false, true, true]);
});

test('all tools of a small profile are visible, and there is no discover', () => {
  assert.deepEqual(getNames(createTools({ skills: { toolPolicy: { profile: 'minimal' } } })).toSorted(), [
    'memory_search',
    'session_search',
  ]);
});

test('toolDiscovery decides how well a tool has to match', async () => {
  const find = async (toolDiscovery: object) => {
    const tools = createTools({ skills: { toolDiscovery } });
    const input = { query: 'browser page screenshot pdf', limit: 20 };
    const { result } = await tools.use({ name: 'discover', input }, { signal: new AbortController().signal, step: 1 });
    return (result as { tools: unknown[] }).tools.length;
  };
  const [strict, usual, lenient] = [
    await find({ minBm25Score: 1, minHybridScore: 1 }),
    await find({}),
    await find({ minBm25Score: 0.05, minHybridScore: 0.05 }),
  ];
  assert.ok(strict < usual && usual < lenient, `${strict} ${usual} ${lenient}`);
});

test('discover finds nothing that the policy or the order forbids', async () => {
  const narrowing = { profile: 'supervisor' as const, deny: ['cron_run'] };
  const tools = createTools({ skills: { toolPolicy: { deny: ['cron_add'] } }, deferredTools: { mode: 'always' } }, { narrowing });
  const input = { query: 'cron add run update browser open', limit: 20 };
  const { result } = await tools.use({ name: 'discover', input }, { signal: new AbortController().signal, step: 1 });
  const found = (result as { tools: { name: string }[] }).tools.map(({ name }) => name);
  assert.ok(found.includes('cron_update'), found.join());
  for (const name of ['cron_add', 'cron_run', 'browser_open']) {
    assert.ok(!found.includes(name));
    const refused = await tools.use({ name, input: {} }, { signal: new AbortController().signal, step: 1 });
    assert.match(JSON.stringify(refused.result), /Unknown tool/);
  }
});

const offer = (name: string, rest: Partial<OfferedTool> = {}): OfferedTool => ({
  name,
  group: 'mcp',
  provider: 'weather',
  description: 'Returns the forecast of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
  readOnly: false,
  idempotent: false,
  ...rest,
});

test('offered tools follow the policy, the order and deferral, and do not replace declared tools', () => {
  const offered = [
    offer('mcp__weather--forecast', { readOnly: true }),
    offer('mcp__files--sync', { provider: 'files' }),
    offer('read'),
    offer('dev_act'),
  ];
  const visible = (config: object, turn: Partial<ToolTurn> = {}) => getNames(createTools(config, { offered, declared: [], ...turn }));
  assert.deepEqual(visible({}), ['mcp__weather--forecast', 'mcp__files--sync']);
  assert.deepEqual(visible({ skills: { toolPolicy: { deny: ['group:mcp'] } } }), []);
  assert.deepEqual(visible({}, { narrowing: { mcpServers: ['files'] } }), ['mcp__files--sync']);
  const tools = createTools({ deferredTools: { mode: 'never' } }, { offered });
  assert.equal(getNames(tools).filter((name) => name === 'read').length, 1);
  assert.deepEqual([tools.isReadOnly('mcp__weather--forecast'), tools.isIdempotent('mcp__files--sync')], [true, false]);
});
