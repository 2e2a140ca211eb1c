import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { parseParams } from '../definition/validation.ts';
import { AgentConfig, AgentPatch } from './agents.ts';
import { createPatchSchema } from './patch.ts';
import { Configuration, ConfigurationPatch, OBJECT_SECTIONS, SECTION_NAMES, sections, topLevel, type SectionName } from './sections.ts';

const defaults = Configuration.parse({});

function at(path: string): unknown {
  let value: unknown = defaults;
  for (const name of path.split('.')) value = (value as Record<string, unknown>)[name];
  return value;
}

test('the defaults are those of the interface', () => {
  const expected: Record<string, unknown> = {
    tenantId: 'default',
    logLevel: 'info',
    'agents.default.maxSteps': 150,
    'agents.default.cacheRetention': 'long',
    'agents.default.budgets.perDay': 100_000_000,
    'agents.default.rag.includeTrustLevels': ['system', 'learned'],
    'agents.default.modelFailover.cooldownMultiplier': 5,
    'agents.default.promptTimeout.promptTimeoutMs': 180_000,
    'agents.default.skills.watchDebounceMs': 400,
    'agents.default.skills.builtinTools.browser': false,
    'agents.default.scheduler.cron.maxJobs': 100,
    'agents.default.session.resetPolicy': undefined,
    'agents.default.scheduler.heartbeat.toolPolicy': undefined,
    'config.immutableOverrides': [],
    'media.store': {},
    'gateway.web': { enabled: true },
    'webhooks.presets': [],
    'agents.default.session.dmScope.mode': 'per-channel-peer',
    'agents.default.session.compaction.postCompactionSections': ['Session Startup', 'Red Lines'],
    'agents.default.concurrency.maxQueuedPerSession': 50,
    'agents.default.contextEngine.historyTurns': 15,
    'agents.default.contextEngine.budget.effectiveContextCapSmall': 32_000,
    'agents.default.contextPruning.protectedTools': ['memory_search', 'memory_get', 'memory_store', 'file_read'],
    'agents.default.memoryReview.schedule': '0 2 * * *',
    'channels.telegram.enabled': false,
    'channels.email.imapPort': 993,
    'channels.line.webhookPath': '/webhooks/line',
    'channels.slack.mediaProcessing.understandLinks': true,
    'channels.healthCheck.staleThresholdMs': 1_800_000,
    'memory.embeddingDimensions': 1_536,
    'security.agentToAgent.maxPingPongTurns': 3,
    'security.agentToAgent.subagentContext.stuckKillThresholdMs': 180_000,
    'routing.defaultAgentId': 'default',
    'daemon.shutdownTimeoutMs': 30_000,
    'daemon.logging.maxSize': '10m',
    'scheduler.heartbeat.intervalMs': 300_000,
    'scheduler.quietHours.start': '22:00',
    'gateway.host': '127.0.0.1',
    'gateway.port': 4766,
    'gateway.maxBatchSize': 50,
    'gateway.rateLimit': { windowMs: 60_000, maxRequests: 100 },
    'gateway.wsMessageRateLimit': { maxMessages: 60, windowMs: 60_000 },
    'gateway.wsMaxMessageBytes': 1_048_576,
    'gateway.maxConnections': 12_000,
    'gateway.maxConnectionsPerToken': 100,
    'gateway.maxConnectionsPerAddress': 200,
    'gateway.authFailures': { windowMs: 60_000, maxFailures: 10 },
    'integrations.mcp.callToolTimeoutMs': 120_000,
    'media.infrastructure.maxRemoteFetchBytes': 26_214_400,
    'tts.tagPattern': String.raw`\[\[tts(?::.*?)?\]\]`,
    'imageGen.maxPerHour': 10,
    'observability.logRotation': { maxSizeBytes: 52_428_800, maxFiles: 5, maxAgeDays: 30, compressAged: true },
    'diagnostics.recallTrace': { enabled: false, maxFileBytes: 52_428_800 },
    'queue.defaultOverflow': { maxDepth: 20, policy: 'drop-new' },
    'queue.maxConcurrentSessions': 10,
    'queue.priorityLanes.1': { name: 'normal', concurrency: 5, priority: 1, agingPromotionMs: 60_000 },
    'streaming.defaultCoalescer.maxChars': 500,
    'embedding.cache.maxEntries': 10_000,
    'browser.viewport': { width: 1_280, height: 720 },
    'models.dev': undefined,
    'providers.entries': {},
    'messages.splitSeparator': '\n\n',
    'approvals.defaultTimeoutMs': 300_000,
    'webhooks.path': '/hooks',
    'webhooks.hmac.headerName': 'x-webhook-signature',
    'envelope.timeFormat': '12h',
    'deliveryQueue.maxQueueDepth': 10_000,
    'senderTrustDisplay.hashPrefix': 8,
  };
  for (const [path, value] of Object.entries(expected)) assert.deepEqual(at(path), value, path);
});

test('every section is whole when nothing is written, and says what it is', () => {
  assert.equal(SECTION_NAMES.length, 43);
  for (const name of SECTION_NAMES) {
    assert.deepEqual(sections[name].parse(undefined), defaults[name], name);
    assert.ok(sections[name].description, `${name} is not described`);
    if (!(name in topLevel) && name !== 'agents') assert.deepEqual(sections[name].parse({}), defaults[name], name);
  }
});

test('an unknown key is refused at every depth, with its path', () => {
  const cases: [unknown, string, string][] = [
    [{ gatewy: {} }, '', 'gatewy'],
    [{ gateway: { prot: 1 } }, 'gateway', 'prot'],
    [{ gateway: { rateLimit: { max: 1 } } }, 'gateway.rateLimit', 'max'],
    [{ agents: { oslo: { skills: { toolPolicy: { alow: [] } } } } }, 'agents.oslo.skills.toolPolicy', 'alow'],
    [{ queue: { perChannel: { slack: { overflow: { depth: 1 } } } } }, 'queue.perChannel.slack.overflow', 'depth'],
    [{ providers: { entries: { local: { type: 'openai', url: '' } } } }, 'providers.entries.local', 'url'],
  ];
  for (const schema of [Configuration, ConfigurationPatch]) {
    for (const [value, path, key] of cases) {
      const issue = schema.safeParse(value).error?.issues.find(({ code }) => code === 'unrecognized_keys');
      assert.equal(issue?.path.join('.'), path);
      assert.deepEqual(issue?.code === 'unrecognized_keys' && issue.keys, [key]);
    }
  }
});

test('a number outside its range is refused, never clamped', () => {
  const refused = [
    { gateway: { port: 65_536 } },
    { gateway: { maxBatchSize: 0 } },
    { gateway: { wsHeartbeatMs: -1 } },
    { gateway: { host: 'http://example.org' } },
    { agents: { oslo: { contextEngine: { historyTurns: 2 } } } },
    { agents: { oslo: { temperature: 2.1 } } },
    { agents: { Oslo: {} } },
    { webhooks: { token: 'short' } },
    { providers: { entries: { default: { type: 'openai' } } } },
    { gateway: { tokens: [{ id: 'm', scopes: ['mcp-client', 'rpc'] }] } },
  ];
  for (const value of refused) assert.equal(Configuration.safeParse(value).success, false, JSON.stringify(value));
  assert.equal(sections.gateway.parse({ wsHeartbeatMs: 0 }).wsHeartbeatMs, 0);
  assert.equal(sections.scheduler.parse({ heartbeat: { intervalMs: 0 } }).heartbeat.intervalMs, 0);
  assert.ok(sections.webhooks.parse({ token: { source: 'env', provider: 'default', id: 'HOOK' } }).token);
});

test('client sections are objects and exclude the scalar root keys', () => {
  for (const name of OBJECT_SECTIONS) assert.equal(typeof defaults[name], 'object', name);
  const rest = SECTION_NAMES.filter((name) => !OBJECT_SECTIONS.includes(name));
  assert.deepEqual(rest, ['tenantId', 'logLevel', 'dataDir', 'agentDir']);
});

test('no session is ever reset without a policy, and a policy that is set has the usual hours', () => {
  const { session } = AgentConfig.parse({ session: { resetPolicy: {} } });
  assert.equal(AgentConfig.parse({}).session.resetPolicy, undefined);
  assert.deepEqual(session.resetPolicy, {
    mode: 'daily',
    dailyResetHour: 4,
    dailyResetTimezone: '',
    idleTimeoutMs: 14_400_000,
    sweepIntervalMs: 300_000,
    resetTriggers: [],
    perType: {},
  });
});

test('a cap of the context may be 0, which is none, and the least answer has 256 to 8,192 tokens', () => {
  const budget = (of: object): boolean => AgentConfig.safeParse({ contextEngine: { budget: of } }).success;
  assert.ok(budget({ effectiveContextCapSmall: 0, effectiveContextCapNano: 0 }));
  assert.deepEqual(
    [255, 256, 8_192, 8_193].map((minVisibleOutputTokens) => budget({ minVisibleOutputTokens })),
    [false, true, true, false],
  );
});

test('speech takes the words of both documents', () => {
  for (const autoMode of ['off', 'always', 'inbound', 'tagged', 'never', 'voice_reply'])
    assert.equal(sections.tts.parse({ autoMode }).autoMode, autoMode);
  assert.equal(sections.tts.safeParse({ autoMode: 'sometimes' }).success, false);
});

test('a preset that the product does not have is refused with the list of those it has', () => {
  assert.deepEqual(sections.webhooks.parse({ presets: ['github'] }).presets, ['github']);
  assert.throws(() => parseParams(sections.webhooks, { presets: ['githbu'] }), /presets.0: expected one of "gmail", "github"/);
});

test('how long media are kept and where the dashboard lies can be set', () => {
  assert.equal(sections.media.parse({ store: { ttlMs: 3_600_000 } }).store.ttlMs, 3_600_000);
  assert.equal(sections.gateway.parse({ web: { path: '/srv/dashboard' } }).web.path, '/srv/dashboard');
});

test('the key of a provider is named, never written down', () => {
  const local = (apiKeyName: string) => sections.providers.safeParse({ entries: { local: { type: 'openai', apiKeyName } } }).success;
  assert.deepEqual(['LOCAL_KEY', '', 'sk-live-4fT0mUq2Zs8KxY1b'].map(local), [true, true, false]);
});

test('a change says only what it says: no default is filled in, at any depth', () => {
  const change = { model: 'dev/slow', skills: { toolPolicy: { deny: ['exec'] } }, operationModels: { cron: { timeout: 5 } } };
  assert.deepEqual(AgentPatch.parse(change), change);
  assert.deepEqual(AgentPatch.parse({}), {});
  assert.deepEqual(ConfigurationPatch.parse({ agents: { oslo: {} }, queue: { defaultOverflow: { maxDepth: 3 } } }), {
    agents: { oslo: {} },
    queue: { defaultOverflow: { maxDepth: 3 } },
  });
  assert.equal(AgentPatch.safeParse({ maxSteps: 0 }).success, false);
  assert.deepEqual(AgentConfig.parse(change).skills.toolPolicy, { profile: 'full', allow: [], deny: ['exec'] });
});

test('a section becomes a JSON schema with its defaults and descriptions', () => {
  const schema = z.toJSONSchema(sections.gateway, { io: 'input' });
  assert.equal(schema.description, 'gateway: listener, tokens, limits');
  assert.equal(schema.additionalProperties, false);
  assert.deepEqual(schema.required, undefined);
  for (const name of SECTION_NAMES satisfies SectionName[]) z.toJSONSchema(sections[name], { io: 'input' });
  z.toJSONSchema(ConfigurationPatch, { io: 'input' });
});

test('a provider is at an http address, or at none', () => {
  const accepts = (baseUrl: string): boolean =>
    sections.providers.safeParse({ entries: { x: { type: 'openai-compatible', baseUrl } } }).success;
  for (const url of ['', 'http://127.0.0.1:11434/v1', 'https://api.example/v1']) assert.ok(accepts(url), url);
  for (const url of [':::', 'http://', 'localhost:11434', 'file:///etc/passwd', 'http://[::1', 'http://x:99999'])
    assert.ok(!accepts(url), url);
});

test('the keys of a change are made when somebody writes one, and once', () => {
  let looked = 0;
  const inner = z.string().default('x');
  const unwrap = inner.unwrap.bind(inner);
  inner.unwrap = () => {
    looked += 1;
    return unwrap();
  };
  const section = z.strictObject({ deep: z.strictObject({ inner }) });
  const [patch, other] = [createPatchSchema(section), createPatchSchema(z.strictObject({ section }))];
  assert.equal(looked, 0);
  assert.deepEqual(patch.parse({ deep: {} }), { deep: {} });
  assert.deepEqual(other.parse({ section: { deep: { inner: 'y' } } }), { section: { deep: { inner: 'y' } } });
  assert.equal(looked, 1);
});
