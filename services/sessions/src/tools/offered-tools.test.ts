import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bucketKey, OFFERED_TOOLS_BUCKET, tools as contract, type OfferedTool, type Principal } from '@switchyard/contracts';
import type { Handlers } from '@switchyard/bus';
import { testSessions } from '../sessions.fixture.ts';

const FORECAST: OfferedTool = {
  name: 'mcp__weather--forecast',
  group: 'mcp',
  provider: 'weather',
  description: 'Returns the forecast of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
  readOnly: false,
  effect: 'read',
  idempotent: false,
};

/** Sessions with an agent to which the tools service offers a tool of an MCP server. */
async function start(handlers?: Handlers<typeof contract>) {
  const agent = { model: 'dev/tools', skills: { toolPolicy: { profile: 'minimal', allow: ['group:mcp'] } } };
  const app = await testSessions({ agents: { tools: agent, other: agent } });
  const service = await app.host.connect('tools');
  if (handlers) await service.serve(contract, handlers, { version: '0.0.0' });
  const bucket = await service.kv(OFFERED_TOOLS_BUCKET);
  const put = async (tools: OfferedTool[]): Promise<void> => {
    await bucket.put(bucketKey('default', 'tools'), Buffer.from(JSON.stringify({ tenant: 'default', agentId: 'tools', tools })));
    await app.bus.flush();
  };
  const ask = async (message: string, agentId = 'tools') => (await app.bus.call('agent.execute', { agentId, message })).response;
  return { put, ask, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() };
}

test('an agent gets the tools that are offered to it, until the offer ends', async () => {
  await using app = await start();
  assert.doesNotMatch(await app.ask('which?'), /mcp__weather--forecast/);
  await app.put([FORECAST]);
  assert.match(await app.ask('which?'), /mcp__weather--forecast/);
  assert.doesNotMatch(await app.ask('which?', 'other'), /mcp__weather--forecast/);
  await app.put([]);
  assert.doesNotMatch(await app.ask('which?'), /mcp__weather--forecast/);
});

test('a call of an offered tool goes to tools.use as the agent of the turn', async () => {
  const calls: { name: string; input: unknown; principal: Principal }[] = [];
  await using app = await start({
    'tools.use': ({ name, input }, { principal }) => {
      calls.push({ name, input, principal });
      return calls.length === 1 ? { result: { celsius: 21 }, failed: false } : { result: 'unknown city', failed: true };
    },
  });
  await app.put([FORECAST]);
  assert.match(await app.ask('mcp__weather--forecast {"city":"Oslo"}'), /"celsius":21/);
  assert.match(await app.ask('mcp__weather--forecast {"city":"?"}'), /unknown city/);
  assert.deepEqual(
    calls.map(({ name, input, principal }) => [name, input, principal.tenant, principal.agent]),
    [
      ['mcp__weather--forecast', { city: 'Oslo' }, 'default', 'tools'],
      ['mcp__weather--forecast', { city: '?' }, 'default', 'tools'],
    ],
  );
});

test('a call fails with a hint when the tools service is not installed', async () => {
  await using app = await start();
  await app.put([FORECAST]);
  assert.match(await app.ask('mcp__weather--forecast {"city":"Oslo"}'), /UNAVAILABLE.*tools.*not installed/);
});
