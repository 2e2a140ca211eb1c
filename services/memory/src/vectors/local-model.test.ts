import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { CONFIG_BUCKET, sections, type ConfigurationPatch } from '@switchyard/contracts';
import { createLogger } from '@switchyard/telemetry';
import { principal, tempDir, testService, type TestService } from '@switchyard/testkit';
import { defineMemory } from '../service.ts';
import { INSTALL, loadLibrary, type Gpu, type LocalLibrary } from './llama-library.ts';
import { createLocalModel } from './local-model.ts';

const admin = principal({ scopes: ['*'] });
const PLACES = 4;
const CONCEPTS = [/\b(car|automobile)/i, /\b(dog|hound)/i, /\b(doctor|physician)/i];

/** A stand-in for the library whose models recognize a few concepts. */
function library() {
  const requests: {
    gpu?: Gpu;
    uri?: string;
    directory?: string;
    contextSize?: number;
    longest: number;
    freed: number;
    running: number;
    most: number;
  } = {
    longest: 0,
    freed: 0,
    running: 0,
    most: 0,
  };
  const texts = new Map<number, string>();
  const load = async (): Promise<LocalLibrary> => ({
    getLlama: async ({ gpu }) => {
      requests.gpu = gpu;
      return {
        loadModel: async () => ({
          embeddingVectorSize: PLACES,
          tokenize(text) {
            texts.set(texts.size, text);
            return [texts.size - 1, ...Array.from(text, () => 0)];
          },
          createEmbeddingContext: async ({ contextSize }) => {
            requests.contextSize = contextSize;
            return {
              async getEmbeddingFor(tokens) {
                requests.longest = Math.max(requests.longest, tokens.length);
                requests.most = Math.max(requests.most, ++requests.running);
                await new Promise((resolve) => setImmediate(resolve));
                requests.running -= 1;
                const text = texts.get(tokens[0] ?? -1) ?? '';
                return { vector: [...CONCEPTS.map((concept) => Number(concept.test(text))), 0.05] };
              },
            };
          },
        }),
        dispose: async () => void (requests.freed += 1),
      };
    },
    resolveModelFile: async (uri, { directory }) => {
      Object.assign(requests, { uri, directory });
      if (uri === 'gone.gguf') throw new Error('there is no such model');
      return join(directory, 'model.gguf');
    },
  });
  return { requests, load };
}

const local = (more: object = {}): ConfigurationPatch => ({ embedding: { provider: 'local', local: { modelUri: 'one.gguf', ...more } } });

async function waitUntil(what: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 10_000; !(await what());) {
    assert.ok(Date.now() < end, 'the condition never held');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const readProvider = async ({ bus }: TestService): Promise<string | null> => (await bus.call('memory.embeddingCache', {})).provider;

test('finds synonyms with a local model and its settings', async () => {
  await using data = await tempDir();
  const { requests, load } = library();
  const settings = local({ gpu: false, contextSize: 64, modelsDir: 'own/models' });
  await using app = await testService(defineMemory({ load }), { as: admin, settings, data: data.path });
  await waitUntil(async () => (await readProvider(app)) === `local/one.gguf@${PLACES}`);
  assert.deepEqual(
    [requests.gpu, requests.uri, requests.directory, requests.contextSize],
    [false, 'one.gguf', join(data.path, 'own/models'), 64],
  );
  await app.bus.call('memory.store', { content: 'The automobile is in the garage.' });
  await app.bus.call('memory.store', { content: `The hound is called Bruno. ${'And so on. '.repeat(50)}` });
  await waitUntil(async () => (await app.bus.call('memory.stats', {})).embeddedEntries === 2);
  const { results } = await app.bus.call('memory.search', { query: 'Where did I leave my car?' });
  assert.deepEqual(
    results.map(({ content }) => content),
    ['The automobile is in the garage.'],
  );
  assert.equal(requests.longest, 61, 'truncates a text at the context size');
});

test('replaces the model at runtime and frees the previous one', async () => {
  const { requests, load } = library();
  const app = await testService(defineMemory({ load }), { as: admin, settings: local() });
  await waitUntil(async () => (await readProvider(app)) === `local/one.gguf@${PLACES}`);
  const bucket = await (await app.host.connect('registry')).kv(CONFIG_BUCKET);
  const layer = local({ modelUri: 'two.gguf' });
  await bucket.put('head', Buffer.from(JSON.stringify({ layer })));
  await waitUntil(async () => (await readProvider(app)) === `local/two.gguf@${PLACES}`);
  assert.equal(requests.freed, 1);
  await app[Symbol.asyncDispose]();
  assert.equal(requests.freed, 2);
});

test('searches by words and logs the remedy when the library or the model is missing', async () => {
  const missing = Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
  const cases = [
    [async () => Promise.reject(missing), local(), INSTALL],
    [library().load, local({ modelUri: 'gone.gguf' }), 'check embedding.local'],
  ] as const;
  for (const [load, settings, says] of cases) {
    const lines: string[] = [];
    const log = createLogger({ level: 'warn', destination: { write: (line: string) => void lines.push(line) } });
    await using app = await testService(defineMemory({ load }), { as: admin, settings, log });
    await waitUntil(async () => lines.some((line) => line.includes(says)));
    assert.equal(await readProvider(app), null);
    await app.bus.call('memory.store', { content: 'The automobile is in the garage.' });
    assert.equal((await app.bus.call('memory.search', { query: 'automobile garage' })).results.length, 1);
  }
});

test('loads nothing unless it is configured', async () => {
  let loaded = 0;
  const { load } = library();
  const counted = (): Promise<LocalLibrary> => {
    loaded += 1;
    return load();
  };
  for (const embedding of [{ provider: 'auto' as const }, { provider: 'local' as const, enabled: false }]) {
    await using app = await testService(defineMemory({ load: counted }), { as: admin, settings: { embedding } });
    await app.bus.call('memory.store', { content: 'kept' });
  }
  assert.equal(loaded, 0);
});

test('embeds texts sequentially', async () => {
  const { requests, load } = library();
  const embedding = sections.embedding.parse({ provider: 'local' });
  const settings = { current: { embedding }, onChange: () => () => undefined };
  const loaded = Promise.withResolvers<void>();
  const log = { info: () => loaded.resolve(), warn: () => loaded.reject(new Error('it was not loaded')) };
  await using model = createLocalModel({ settings, data: '/data', log, load });
  await loaded.promise;
  const [one, two] = await Promise.all([model.embed(['a car', 'a dog'], undefined), model.embed(['a doctor'], undefined)]);
  assert.deepEqual([one.length, two.length, requests.most], [2, 1, 1]);
});

const installed = await loadLibrary().then(
  () => true,
  () => false,
);
test('loads the installed library', { skip: installed ? false : `not installed here: ${INSTALL}` }, async () => {
  const { getLlama } = await loadLibrary();
  const llama = await getLlama({ gpu: false, logLevel: 'error', build: 'never', progressLogs: false });
  await llama.dispose();
});
