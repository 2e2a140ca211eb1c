import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createModels } from '@switchyard/models';
import { systemClock } from '@switchyard/service-kit';
import { silentLogger } from '@switchyard/telemetry';
import { AgentConfig, sections } from '@switchyard/contracts';
import { principal, startUpstream, type TestService } from '@switchyard/testkit';
import { sessionCollection } from '../model/session-document.ts';
import { summaryCollection } from '../model/summary-document.ts';
import { turnCollection } from '../model/turn-document.ts';
import { bodyCollection } from '../model/text-document.ts';
import { testSessions } from '../sessions.fixture.ts';
import { planTurn } from '../agent-loop/turn-planner.ts';
import { createRecall } from './exchange-cache.ts';
import { createBeginnings } from './history-prefix-cache.ts';
import { createToolBox } from '../tools/toolbox.ts';

/** `TURNS=2000` tests the length of a long real conversation. */
const TURNS = Number(process.env['TURNS'] ?? 40);
const PLANTED = 10;
const ASKED = TURNS - 10;
const FACT = 'The vault opens with 7-green-otters, on Tuesdays.';
const SUMMARY = 'They spoke of harbours, cranes and the wind.';
const KEY = 'default:test:gateway';
/** Context window of the model. One token is about four characters. */
const WINDOW_TOKENS = 4_000;
const BUILDING_MS = 5;

interface Message {
  role: string;
  content: string | null;
}

const admin = principal({ scopes: ['*'] });
const config = {
  provider: 'local',
  model: 'm',
  maxTokens: 500,
  contextEngine: {
    freshTailTurns: 4,
    leafMinFanout: 4,
    condensedMinFanout: 3,
    leafChunkTokens: 1_000,
    leafTargetTokens: 96,
    compactionModel: 'writer/m',
  },
};

test(`all requests of ${TURNS} turns fit the window, and a fact of the tenth turn is found in the last ones`, async (t) => {
  await using upstream = await startUpstream({ kind: 'text', text: SUMMARY });
  // Summaries use a separate upstream, so that their requests get no answer that is meant for a turn.
  await using writer = await startUpstream({ kind: 'text', text: SUMMARY });
  const getEntry = (baseUrl: string) => ({
    type: 'openai-compatible' as const,
    baseUrl,
    models: [{ id: 'm', contextWindow: WINDOW_TOKENS }],
  });
  const entries = { local: getEntry(upstream.url), writer: getEntry(writer.url) };
  await using app = await testSessions({ as: admin, settings: { providers: { entries } }, agents: { default: config } });
  const began = performance.now();
  for (let n = 1; n <= TURNS; n += 1) {
    if (n === ASKED) {
      const look = { name: 'ctx_search', arguments: { query: 'how does the vault open?', limit: 5 } };
      upstream.respond({ kind: 'tools', calls: [look] }, { kind: 'text', text: SUMMARY });
    }
    const message =
      n === PLANTED ? FACT : n === ASKED ? 'How does the vault open?' : `${n}: ${'The harbour is wide. '.repeat(10 + (n % 20))}`;
    await app.bus.call('agent.execute', { message });
  }
  const took = (performance.now() - began) / TURNS;
  const [promptMessages, written] = [upstream, writer].map(({ requests }) => requests.map(({ body }) => body.messages as Message[]));
  assert.ok(promptMessages && written);
  const lengths = [...promptMessages, ...written].map((messages) => messages.reduce((sum, { content }) => sum + (content ?? '').length, 0));
  const longest = Math.max(...lengths);
  assert.ok(longest <= WINDOW_TOKENS * 4, `${longest} characters`);
  const requestCount = promptMessages.findIndex((messages) => messages.at(-1)?.content === 'How does the vault open?');
  assert.ok(!JSON.stringify(promptMessages[requestCount]).includes('otters'), 'it is told no more');
  assert.match(promptMessages[requestCount + 1]?.at(-1)?.content ?? '', /7-green-otters/);
  const { nodes } = await app.bus.call('context.tree', { conversation_id: KEY });
  const building = await buildingMs(app, entries);
  t.diagnostic(
    `${Math.round(took)} ms a turn, at most ${longest} characters, ${nodes.length} summaries, built in ${building.toFixed(2)} ms`,
  );
  assert.ok(building <= BUILDING_MS, `${building} ms`);
});

/** Returns the minimum time for building a prompt without cached data. */
async function buildingMs(app: TestService, entries: object): Promise<number> {
  const store = await app.host.store('sessions');
  const data = { sessions: sessionCollection, turns: turnCollection, bodies: bodyCollection, summaries: summaryCollection };
  const { sessions, turns, bodies, summaries } = await store.open(data);
  const session = await sessions.for(admin).get(KEY);
  const [turn] = (await turns.for(admin).find({ epoch: session?.epoch ?? '' }, { sort: [['seq', 'desc']], limit: 1 })).items;
  assert.ok(session && turn);
  const settings = {
    providers: sections.providers.parse({ entries }),
    models: sections.models.parse({ dev: false }),
    security: sections.security.parse({}),
  };
  const models = createModels({ settings: () => settings, secret: async () => null, env: {}, log: silentLogger() });
  const agent = { agentId: 'default', tenant: 'default', suspended: false, isDefault: true, config: AgentConfig.parse(config) };
  const tools = (who: typeof admin, of: typeof agent.config, options: Parameters<typeof createToolBox>[3]) =>
    createToolBox(app.bus, who, of, options);
  const deps = { tools, turns: turns.for(admin), bodies: bodies.for(admin), summaries, models };
  const about = {
    turn,
    lease: { tenant: 'default', session } as never,
    agent,
    principal: admin,
    traceparent: undefined,
    remainingMs: () => 60_000,
  };
  const remembering = { maxChars: 8_388_608, ttlMs: () => 60_000, clock: systemClock };
  let best = Infinity;
  for (let n = 0; n < 20; n += 1) {
    const began = performance.now();
    const { messages } = await planTurn(
      { ...deps, recall: createRecall(remembering), beginnings: createBeginnings(remembering) },
      { ...about, model: { provider: 'local', modelId: 'm' }, text: 'and now?' },
    );
    best = Math.min(best, performance.now() - began);
    assert.ok(messages.length > 3);
  }
  await store.close();
  return best;
}
