import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { AGENTS_BUCKET, AgentConfig } from '@switchyard/contracts';
import { principal, testService, type TestService } from '@switchyard/testkit';
import { createLogger } from '@switchyard/telemetry';
import { reviewCollection } from '../documents/collections.ts';
import { defineMemory } from '../service.ts';

const EVERY_SECOND = '* * * * * *';
const ENOUGH_MS = 10_000;
const SAME = [
  'The printer on the second floor is out of toner again.',
  'The printer on the second floor is out of toner again!',
  'Remember: the printer on the second floor is out of toner again.',
];

let app: TestService;
const logged: string[] = [];
const log = createLogger({ level: 'warn', destination: { write: (line: string) => void logged.push(line) } });
before(async () => void (app = await testService(defineMemory({ reviewMs: 50 }), { from: 'sessions', log })));
after(() => app[Symbol.asyncDispose]());

/** A tenant whose default agent has this memoryReview. */
async function fixture(review: object) {
  const tenant = `t-${randomUUID()}`;
  const admin = principal({ tenant, scopes: ['*'] });
  const bus = app.bus.as(admin);
  async function set(more: object): Promise<void> {
    const config = AgentConfig.parse({ memoryReview: { schedule: EVERY_SECOND, minMessages: 1, ...more } });
    const projection = { agentId: 'default', tenant, suspended: false, isDefault: true, config };
    await (await app.host.bus.kv(AGENTS_BUCKET)).put(`${tenant}.default`, Buffer.from(JSON.stringify(projection)));
  }
  await set(review);
  return {
    admin,
    bus,
    set,
    /** A captured memory of a session. */
    async keep(content: string, session: string, client = admin.client): Promise<void> {
      const about = { turnId: `${tenant} ${session} ${content}`, agentId: 'default', sessionKey: toSessionKey(session) };
      const captured = [{ ...about, content, memoryType: 'semantic' as const, outside: false }];
      await app.bus.as({ ...admin, client }).call('memory.capture', { captured });
    },
    async found(query = 'printer toner') {
      return (await bus.call('memory.search', { query })).results;
    },
    deleteEntry: async (session: string, more: object = {}) =>
      (await bus.call('memory.forgetSession', { sessionKey: toSessionKey(session), ...more })).forgotten,
  };
}

const toSessionKey = (session: string): string => `default:${session}:gateway`;
type House = Awaited<ReturnType<typeof fixture>>;

async function keepAll({ keep }: House): Promise<void> {
  for (const [n, text] of SAME.entries()) await keep(text, `s${n}`);
}

async function waitUntil(isTrue: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + ENOUGH_MS; !(await isTrue()) && performance.now() < end;) await wait(20);
  assert.ok(await isTrue());
}

const reviewed = ({ found }: House): Promise<void> => waitUntil(async () => (await found()).length === 1);

describe('memory reviews', { concurrency: true }, () => {
  test('merges similar memories of one owner into an observation with its sources', async () => {
    const { keep, found } = await fixture({ enabled: true, autoTags: ['reviewed'] });
    for (const [n, text] of SAME.entries()) await keep(text, `s${n}`);
    await keep('Lunch was cold.', 's1');
    await keep(SAME[0] ?? '', 'theirs', 'ann');
    await waitUntil(async () => (await found()).length === 2);
    const [one] = (await found()).filter(({ sources }) => sources);
    assert.equal(one?.content, SAME[2], 'the longest source');
    assert.equal(one?.sources?.length, 3);
    assert.deepEqual(one?.tags, ['observation', 'reviewed']);
    assert.equal((await found('lunch')).length, 1);
    // A later similar memory joins the observation.
    await keep(SAME[1] ?? '', 'later');
    await waitUntil(async () => (await found()).some(({ sources }) => sources?.length === 4) && (await found()).length === 2);
  });

  test('skips sessions with too few messages', async () => {
    const { keep, found } = await fixture({ enabled: true, minMessages: 4 });
    for (const n of [0, 1]) await keep(`The tide table of ${n} hangs in the harbour office.`, `s${n}`);
    for (const text of SAME.slice(0, 2)) await keep(text, 'long');
    await waitUntil(async () => (await found()).some(({ sources }) => sources?.length === 2));
    assert.equal((await found('tide table harbour')).length, 2);
  });

  test('emits memory:consolidated with the counts', async () => {
    const { bus } = await fixture({ enabled: true });
    for (const content of SAME) await bus.call('memory.store', { content });
    for (;;) {
      const { observationsCreated, clustersProcessed, dedupHits, agentId } = await app.nextEvent('memory:consolidated');
      if (observationsCreated === 0) continue;
      assert.deepEqual([observationsCreated, clustersProcessed, agentId], [1, 1, 'default']);
      return assert.ok(dedupHits >= 2);
    }
  });

  test('forgetting a session removes its sources, and the observation with its last source', async () => {
    const one = await fixture({ enabled: true });
    await keepAll(one);
    await reviewed(one);
    assert.equal(await one.deleteEntry('s2'), 1);
    const [stored, ...others] = await one.found();
    assert.deepEqual([stored?.sources?.length, others], [2, []]);
    assert.notEqual(stored?.content, SAME[2], 'the content of the session is gone');
    assert.deepEqual([await one.deleteEntry('s0'), await one.deleteEntry('s1')], [1, 2]);
    assert.deepEqual(await one.found(), []);
    assert.equal((await one.bus.call('memory.export', {})).totalEntries, 0);
  });

  test('purgeDerived deletes the observation and shows the remaining sources again', async () => {
    const one = await fixture({ enabled: true });
    await keepAll(one);
    await reviewed(one);
    await one.set({ enabled: false });
    await wait(300);
    assert.equal(await one.deleteEntry('s0', { purgeDerived: true }), 2);
    const remainingItems = await one.found();
    assert.deepEqual(new Set(remainingItems.map(({ content }) => content)), new Set(SAME.slice(1)));
    assert.ok(remainingItems.length === 2 && remainingItems.every(({ sources }) => sources === undefined));
  });

  test('deleting an observation deletes its sources', async () => {
    const one = await fixture({ enabled: true });
    await keepAll(one);
    await reviewed(one);
    const [observation] = await one.found();
    await one.bus.call('memory.delete', { id: observation?.id ?? '' });
    assert.equal((await one.bus.call('memory.export', {})).totalEntries, 0);
  });

  test('changes nothing without memoryReview or below dedupThreshold', async () => {
    const houses = await Promise.all([fixture({ enabled: false }), fixture({ enabled: true, dedupThreshold: 1 })]);
    await Promise.all(houses.map(keepAll));
    await wait(2_200);
    assert.deepEqual(await Promise.all(houses.map(async ({ found }) => (await found()).length)), [3, 2]);
  });

  test('logs an invalid schedule once', async () => {
    const one = await fixture({ enabled: true, schedule: 'every noon' });
    const warned = () =>
      logged.filter((line) => line.includes(one.admin.tenant) && line.includes('memoryReview.schedule is invalid')).length;
    await waitUntil(async () => warned() > 0);
    await wait(300);
    assert.equal(warned(), 1);
    await one.set({ enabled: true, schedule: 'every night' });
    await waitUntil(async () => warned() === 2);
  });

  test('skips a scheduled time that another replica claimed', async () => {
    const one = await fixture({ enabled: true });
    const store = await app.host.store('memory');
    const { reviews } = await store.open({ reviews: reviewCollection });
    const tenantDocuments = reviews.for(one.admin);
    await waitUntil(async () => (await tenantDocuments.get('default')) !== null);
    const dueAt = Date.now() + 3_600_000;
    // As if another replica had run the review of this time and parked the document.
    await waitUntil(
      async () => (await tenantDocuments.update({ agentId: 'default', state: 'parked' }, { set: { dueAt, fireAt: dueAt } })) !== null,
    );
    await keepAll(one);
    await wait(1_500);
    assert.deepEqual([(await one.found()).length, (await tenantDocuments.get('default'))?.dueAt], [3, dueAt]);
  });
});
