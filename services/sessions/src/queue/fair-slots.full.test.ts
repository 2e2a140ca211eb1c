import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Bus } from '@switchyard/bus';
import type { ConfigurationPatch } from '@switchyard/contracts';
import { principal, startMongo, type MongoServer, type TestService } from '@switchyard/testkit';
import { ended, listen, putAgent, testSessions, getTurnId } from '../sessions.fixture.ts';

const SLOW = JSON.stringify([{ text: 'started' }, { wait: 600_000 }]);
const SHORT = JSON.stringify([{ text: 'hello' }]);
const AGENTS = ['one', 'two', 'three', 'four'];

let server: MongoServer;
let databases = 0;
before(async () => (server = await startMongo()));
after(() => server.stop());

/** Environment that selects the store of a new service. */
const STORES: Record<string, () => Record<string, string>> = {
  sqlite: () => ({}),
  mongodb() {
    const url = new URL(server.url);
    url.pathname += `f${(databases += 1)}`;
    return { SWITCHYARD_STORE: url.href };
  },
};

interface SessionsOptions {
  store: string;
  settings?: ConfigurationPatch;
  concurrency?: object;
}

/** Starts a service with four agents of the default tenant. */
async function openSessions({ store, settings, concurrency = { maxConcurrentRuns: 4 } }: SessionsOptions): Promise<TestService> {
  const agents = Object.fromEntries(AGENTS.map((agentId) => [agentId, { model: 'dev/scripted', concurrency }]));
  return testSessions({ settings: { daemon: { shutdownTimeoutMs: 100 }, ...settings }, agents, env: STORES[store]?.() ?? {} });
}

/** Starts slow turns in sessions of their own, with the agents in turn. `running` has an entry for each turn that has started. */
async function startSlow(bus: Bus, { count, agents }: { count: number; agents: readonly string[] }) {
  const running: string[] = [];
  const turnIds: string[] = [];
  const { promise: first, resolve } = Promise.withResolvers<void>();
  for (let n = 0; n < count; n += 1) {
    const turnId = getTurnId(`slow${n}x`);
    turnIds.push(turnId);
    void listen(bus, turnId)
      .until('delta')
      .then(() => {
        running.push(turnId);
        resolve();
      });
    await bus.call('turns.start', { turnId, agentId: agents[n % agents.length], message: SLOW, session: { channelId: turnId } });
  }
  await first;
  return { turnIds, running };
}

async function runShort(bus: Bus, agentId: string): Promise<void> {
  const turnId = getTurnId('short');
  await bus.call('turns.start', { turnId, agentId, message: SHORT });
  assert.equal((await ended(bus, turnId)).state, 'done');
}

for (const store of Object.keys(STORES)) {
  describe(`slots on ${store}`, () => {
    test('80 slow turns of one tenant leave a slot to another tenant', async () => {
      await using app = await openSessions({ store, settings: { queue: { maxConcurrentSessions: 5 } } });
      await putAgent(app.host.bus, 'default', { tenant: 'acme', config: { model: 'dev/scripted' } });
      await app.host.bus.flush();
      const { running } = await startSlow(app.bus.as(principal({ client: 'busy' })), { count: 80, agents: AGENTS });
      await runShort(app.bus.as(principal({ tenant: 'acme', client: 'light' })), 'default');
      assert.equal(running.length, 4);
    });

    for (const [what, { client, agentId }] of [
      ['client', { client: 'light', agentId: 'one' }],
      ['agent', { client: 'busy', agentId: 'two' }],
    ] as const) {
      test(`a waiting turn of another ${what} gets a slot in turn`, async () => {
        await using app = await openSessions({ store, settings: { queue: { maxConcurrentSessions: 1 } } });
        const busy = app.bus.as(principal({ client: 'busy' }));
        const { turnIds } = await startSlow(busy, { count: 6, agents: ['one'] });
        const [first = '', second = '', third = ''] = turnIds;
        const light = app.bus.as(principal({ client }));
        const short = getTurnId('short');
        const [secondStarted, thirdStarted] = [second, third].map((turnId) => listen(busy, turnId).until('delta'));
        const shortDone = listen(light, short).until('done');
        await light.call('turns.start', { turnId: short, agentId, message: SHORT });
        await busy.call('agent.cancel', { turnId: first });
        // The scheduler may begin with either of two that it has not served yet.
        await Promise.race([shortDone, secondStarted]);
        await busy.call('agent.cancel', { turnId: second });
        assert.equal((await Promise.race([shortDone, thirdStarted]))?.at(-1)?.type, 'done');
      });
    }

    test('a client uses no more than its share of an agent and of a tenant', async () => {
      for (const [settings, concurrency, agents] of [
        [{}, { maxConcurrentRuns: 4, clientShare: 0.5 }, ['one']],
        [{ queue: { maxConcurrentSessions: 4, clientShare: 0.5 } }, { maxConcurrentRuns: 4 }, AGENTS],
      ] as const) {
        await using app = await openSessions({ store, settings, concurrency });
        const { running } = await startSlow(app.bus.as(principal({ client: 'greedy' })), { count: 8, agents });
        await runShort(app.bus.as(principal({ client: 'light' })), 'one');
        assert.equal(running.length, 2);
      }
    });
  });
}
