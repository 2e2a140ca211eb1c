import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Bus } from '@switchyard/bus';
import { registry, ServiceError, type Principal } from '@switchyard/contracts';
import type { Host } from '@switchyard/service-kit';
import { principal, tempDir, testService } from '@switchyard/testkit';
import { memory } from '../service.ts';

const admin = principal({ scopes: ['*'] });
const PLACES = 8;
const SPENT_MS = 1_000;
const openai = (model = 'concepts') => ({ embedding: { provider: 'openai' as const, openai: { model, dimensions: PLACES } } });

/** Concepts that the provider recognizes: a car is an automobile. */
const CONCEPTS = [/\b(car|automobile|vehicle)/i, /\b(dog|hound|puppy)/i, /\b(doctor|physician)/i, /\b(rain|shower)/i];

interface Provider {
  requested: { model: string; input: readonly string[]; tenant: string; agentId?: string }[];
  fails?: 'DOWN' | 'REFUSES';
  /** An agent with an exhausted budget. */
  spent?: string;
}

/** A stand-in for the registry that returns vectors of concepts and records requests. */
function provider(options: Provider) {
  return async (host: Host): Promise<void> => {
    const handlers = {
      'models.embed': (
        { model, input: texts, agentId = '' }: { model: string; input: (string | number[])[]; agentId?: string | undefined },
        { principal: who }: { principal: Principal },
      ) => {
        const input = texts.map(String);
        options.requested.push({ model, input, tenant: who.tenant, agentId });
        if (options.spent === agentId)
          throw new ServiceError('RESOURCE_EXHAUSTED', 'used up', {
            details: { reason: 'BUDGET_EXCEEDED', rate: true, retryAfterMs: SPENT_MS },
          });
        if (options.fails === 'DOWN') throw new ServiceError('UNAVAILABLE', 'the provider is down');
        if (options.fails === 'REFUSES' && input.some((text) => text.includes('forbidden')))
          throw new ServiceError('INVALID_ARGUMENT', 'not that');
        return { model, vectors: input.map(vectorModel) };
      },
    };
    await (await host.connect('registry')).serve(registry, handlers, { version: '0.0.0' });
  };
}

function vectorModel(text: string): string {
  const numbers = new Float32Array(PLACES);
  CONCEPTS.forEach((concept, at) => (numbers[at] = concept.test(text) ? 1 : 0));
  numbers[PLACES - 1] = 0.05;
  return Buffer.from(numbers.buffer).toString('base64');
}

/** Waits until all memories have a vector. */
async function filled(bus: Bus, count: number): Promise<void> {
  for (const deadline = Date.now() + 10_000; (await bus.call('memory.stats', {})).embeddedEntries !== count;) {
    assert.ok(Date.now() < deadline, JSON.stringify(await bus.call('memory.stats', {})));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const found = async (bus: Bus, query: string): Promise<string[]> =>
  (await bus.call('memory.search', { query })).results.map(({ content }) => content);

test('finds synonyms with a provider and embeds each memory once', async () => {
  const options: Provider = { requested: [] };
  await using app = await testService(memory, { as: admin, settings: openai(), prepare: provider(options) });
  const { id } = await app.bus.call('memory.store', { content: 'The automobile is in the garage.' });
  await app.bus.call('memory.store', { content: 'The hound is called Bruno.' });
  await filled(app.bus, 2);
  assert.deepEqual(await found(app.bus, 'Where did I leave my car?'), ['The automobile is in the garage.']);
  assert.deepEqual(await found(app.bus, 'Where did I leave my car?'), ['The automobile is in the garage.']);
  const { l1, l2, provider: by, hits, misses, circuitBreaker } = await app.bus.call('memory.embeddingCache', {});
  assert.deepEqual([by, hits, misses, circuitBreaker?.state], [`openai/concepts@${PLACES}`, 1, 1, 'closed']);
  assert.deepEqual([l1, l2], [{ entries: 1, maxEntries: 10_000, hitRate: 0.5, hits: 1, misses: 1 }, undefined]);
  assert.equal(options.requested.flatMap(({ input }) => input).length, 3, 'two memories and one query');
  const { entry } = await app.bus.call('memory.inspect', { id });
  assert.deepEqual(
    Object.keys(entry ?? {}).filter((key) => /vector|embedding|taken|updated/i.test(key)),
    [],
    'no vector leaves',
  );
});

test('memory.embeddingModel overrides the model of embedding', async () => {
  const options: Provider = { requested: [] };
  const settings = { ...openai('common'), memory: { embeddingModel: 'own' } };
  await using app = await testService(memory, { as: admin, settings, prepare: provider(options) });
  await app.bus.call('memory.store', { content: 'A puppy.' });
  await filled(app.bus, 1);
  assert.deepEqual(
    [options.requested[0]?.model, (await app.bus.call('memory.embeddingCache', {})).provider],
    ['own', `openai/own@${PLACES}`],
  );
});

test('searches words while the provider is down, opens the breaker and retries later', async () => {
  const options: Provider = { requested: [], fails: 'DOWN' };
  await using app = await testService(memory, { as: admin, settings: openai(), prepare: provider(options) });
  await app.bus.call('memory.store', { content: 'The automobile is in the garage.' });
  for (const _ of ['one', 'two', 'three']) assert.deepEqual(await found(app.bus, `garage ${_}`), ['The automobile is in the garage.']);
  const { circuitBreaker, vecAvailable } = await app.bus.call('memory.embeddingCache', {});
  assert.deepEqual([circuitBreaker?.state, vecAvailable], ['open', false]);
  const requested = options.requested.length;
  await found(app.bus, 'garage four');
  assert.equal(options.requested.length, requested, 'no request is sent while the breaker is open');
});

test('a rejected text does not block others and is not sent again', async () => {
  const options: Provider = { requested: [], fails: 'REFUSES' };
  await using app = await testService(memory, { as: admin, settings: openai(), prepare: provider(options) });
  for (const content of ['A puppy.', 'Something forbidden.', 'A physician.']) await app.bus.call('memory.store', { content });
  await filled(app.bus, 2);
  assert.deepEqual(await found(app.bus, 'forbidden'), ['Something forbidden.'], 'found by words');
  const sent = (): number => options.requested.flatMap(({ input }) => input).filter((text) => text === 'Something forbidden.').length;
  const before = sent();
  await app.bus.call('memory.store', { content: 'A dog.' });
  await filled(app.bus, 3);
  assert.equal(sent(), before);
});

test('embeds each tenant separately and finds nothing of another tenant', async () => {
  const options: Provider = { requested: [] };
  await using app = await testService(memory, { as: admin, settings: openai(), prepare: provider(options) });
  const other = app.bus.as(principal({ tenant: 'other', scopes: ['*'] }));
  await app.bus.call('memory.store', { content: 'The automobile is red.' });
  await other.call('memory.store', { content: 'The vehicle is blue.' });
  await Promise.all([filled(app.bus, 1), filled(other, 1)]);
  assert.deepEqual(await found(other, 'car'), ['The vehicle is blue.']);
  assert.deepEqual(
    options.requested
      .filter(({ input }) => input[0]?.startsWith('The '))
      .map(({ tenant, input }) => [tenant, ...input])
      .sort(([a = ''], [b = '']) => a.localeCompare(b)),
    [
      ['default', 'The automobile is red.'],
      ['other', 'The vehicle is blue.'],
    ],
  );
});

test('embeds everything again after a model change, and rebuilds an index without the provider', async () => {
  await using data = await tempDir();
  const [first, second]: Provider[] = [{ requested: [] }, { requested: [] }];
  const texts = ['The automobile.', 'The hound.', 'A shower.'];
  {
    await using app = await testService(memory, { as: admin, data: data.path, settings: openai(), prepare: provider(first as Provider) });
    for (const content of texts) await app.bus.call('memory.store', { content });
    await filled(app.bus, 3);
  }
  let before: unknown;
  {
    await using app = await testService(memory, {
      as: admin,
      data: data.path,
      settings: openai('other'),
      prepare: provider(second as Provider),
    });
    await filled(app.bus, 3);
    assert.deepEqual(second?.requested.flatMap(({ input }) => input).sort(), texts.toSorted());
    before = [await found(app.bus, 'car'), await found(app.bus, 'dog')];
  }
  await rm(join(data.path, 'index'), { recursive: true });
  const again: Provider = { requested: [] };
  await using app = await testService(memory, { as: admin, data: data.path, settings: openai('other'), prepare: provider(again) });
  await filled(app.bus, 3);
  assert.deepEqual([await found(app.bus, 'car'), await found(app.bus, 'dog')], before);
  assert.deepEqual(
    again.requested.flatMap(({ input }) => input),
    ['car', 'dog'],
    'only the queries',
  );
});

test('without autoReindex entries keep old vectors and are found by words', async () => {
  await using data = await tempDir();
  const [first, second]: Provider[] = [{ requested: [] }, { requested: [] }];
  {
    await using app = await testService(memory, { as: admin, data: data.path, settings: openai(), prepare: provider(first as Provider) });
    await app.bus.call('memory.store', { content: 'The automobile.' });
    await filled(app.bus, 1);
  }
  const settings = { embedding: { ...openai('other').embedding, autoReindex: false } };
  await using app = await testService(memory, { as: admin, data: data.path, settings, prepare: provider(second as Provider) });
  await app.bus.call('memory.store', { content: 'The hound.' });
  await filled(app.bus, 1);
  assert.deepEqual(
    second?.requested.map(({ input }) => input),
    [['The hound.']],
  );
  assert.deepEqual(await found(app.bus, 'automobile'), ['The automobile.']);
});

test('an exhausted budget delays only the vectors of its agent', async () => {
  const options: Provider = { requested: [], spent: 'poor' };
  const settings = { embedding: { ...openai().embedding, batch: { batchSize: 1 } } };
  await using app = await testService(memory, { as: admin, settings, prepare: provider(options) });
  for (const n of [1, 2, 3, 4, 5]) await app.bus.call('memory.store', { content: `Automobile ${n}.`, agent_id: 'poor' });
  await app.bus.call('memory.store', { content: 'The hound.' });
  await filled(app.bus, 1);
  const requested = { query: 'automobile', agent_id: 'poor' };
  for (const _ of [1, 2, 3, 4]) assert.equal((await app.bus.call('memory.search', requested)).results.length, 5);
  const { circuitBreaker } = await app.bus.call('memory.embeddingCache', {});
  assert.equal(circuitBreaker?.state, 'closed', 'a budget error does not open the breaker');
  const filling = (): number =>
    options.requested.filter(({ agentId, input }) => agentId === 'poor' && input[0]?.startsWith('Automobile')).length;
  const before = filling();
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.ok(filling() - before <= 5, `${filling() - before} times, where once each is enough until then`);
  delete options.spent;
  await filled(app.bus, 6);
});

test('without indexOnStartup only new memories are embedded', async () => {
  await using data = await tempDir();
  {
    await using app = await testService(memory, { as: admin, data: data.path });
    await app.bus.call('memory.store', { content: 'The automobile.' });
  }
  const options: Provider = { requested: [] };
  const settings = { embedding: { ...openai().embedding, batch: { indexOnStartup: false } } };
  await using app = await testService(memory, { as: admin, data: data.path, settings, prepare: provider(options) });
  await app.bus.call('memory.store', { content: 'The hound.' });
  await filled(app.bus, 1);
  assert.deepEqual(
    options.requested.map(({ input }) => input),
    [['The hound.']],
  );
});
