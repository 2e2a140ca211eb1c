import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { encodeWav } from '@switchyard/models';
import { contracts } from '@switchyard/contracts';
import { openHost } from '@switchyard/service-kit';
import { silentLogger } from '@switchyard/telemetry';
import {
  openNats,
  principal,
  resolveSecrets,
  startMongo,
  startProcess,
  startRedisServer,
  tempDir,
  type MongoServer,
} from '@switchyard/testkit';
import { testMedia } from './media.fixture.ts';

const NATS_OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';
const OPTIONS = { timeout: 90_000, skip: NATS_OFF };

let nats: Awaited<ReturnType<typeof openNats>>;
let mongo: MongoServer;
before(async () => {
  if (NATS_OFF) return;
  [nats, mongo] = await Promise.all([openNats(), startMongo()]);
});
after(async () => {
  await Promise.all([nats?.stop(), mongo?.stop()]);
});

/** A provider of speech and transcription. `answers: false` keeps the next request open. */
async function startProvider(wav: Buffer) {
  const state = { answers: true, requests: 0, asked: Promise.withResolvers<void>() };
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      state.requests += 1;
      state.asked.resolve();
      if (!state.answers) return;
      if (request.url?.endsWith('/transcriptions') === true) response.setHeader('content-type', 'application/json').end('{"text":"Nine."}');
      else response.setHeader('content-type', 'audio/wav').end(wav);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return { state, url, [Symbol.asyncDispose]: async () => void (server.closeAllConnections(), server.close()) };
}

test('replicas on NATS and MongoDB ask a provider once, and end the call of a killed one', OPTIONS, async () => {
  const wav = Buffer.from(encodeWav(new Int16Array(2_400), 24_000));
  await using provider = await startProvider(wav);
  await using data = await tempDir();
  const env = {
    SWITCHYARD_BUS: nats.url,
    SWITCHYARD_STORE: mongo.url,
    SWITCHYARD_BLOBS: `file:${join(data.path, 'blobs')}`,
    OPENAI_BASE_URL: provider.url,
  };
  await using first = await testMedia({ env });
  await using second = await testMedia({ env });
  const audio = wav.toString('base64');
  for (const app of [first, second, first, second]) assert.deepEqual(await app.bus.call('audio.transcribe', { audio }), { text: 'Nine.' });
  assert.equal(provider.state.requests, 1);

  // A third replica is killed while the provider works; the first two are away, so that it gets the call.
  await first[Symbol.asyncDispose]();
  await second[Symbol.asyncDispose]();
  const main = join(import.meta.dirname, 'main.ts');
  const settings = { SWITCHYARD_DATA: join(data.path, 'third'), SWITCHYARD_CONFIG: ':' };
  await using caller = await openHost({ env: { ...env, ...settings, SWITCHYARD_DATA: data.path }, log: silentLogger() });
  await (await caller.connect('secrets')).serve(contracts.secrets, { 'secrets.resolve': resolveSecrets({}) }, { version: '0.0.0' });
  const bus = (await caller.connect('gateway')).as(principal());
  await using third = await startProcess([process.execPath, main], { env: { ...env, ...settings }, ready: /"msg":"serving"/ });
  const params = { text: 'Hello', format: 'wav', idempotencyKey: 'killed' };
  Object.assign(provider.state, { answers: false, asked: Promise.withResolvers<void>() });
  const cut = bus.call('tts.synthesize', params).then(
    () => assert.fail('it was killed'),
    (error: { code: string; retryable: boolean }) => error,
  );
  await provider.state.asked.promise;
  await third.end('SIGKILL');
  provider.state.answers = true;
  await using fourth = await testMedia({ env });
  const spoken = await fourth.bus.call('tts.synthesize', params);
  assert.deepEqual([spoken.sizeBytes, provider.state.requests], [wav.length, 3]);
  const { code, retryable } = await cut;
  assert.deepEqual([code, retryable], ['UNAVAILABLE', true]);
});

test('replicas with a shared cache count the images of an hour together', OPTIONS, async () => {
  await using redis = await startRedis();
  await using data = await tempDir();
  const env = {
    SWITCHYARD_BUS: nats.url,
    SWITCHYARD_STORE: mongo.url,
    SWITCHYARD_BLOBS: `file:${join(data.path, 'blobs')}`,
    SWITCHYARD_CACHE: redis.url,
  };
  const settings = { imageGen: { maxPerHour: 3, defaultSize: '8x8' } };
  await using first = await testMedia({ env, settings });
  await using second = await testMedia({ env, settings });
  const results: boolean[] = [];
  for (let at = 0; at < 8; at++) {
    // Each replica has a bus of its own, and the calls of both are spread over the two.
    const { bus } = at % 2 === 0 ? first : second;
    results.push((await bus.call('image.generate', { prompt: `yard ${at}` })).success);
  }
  assert.equal(results.filter((success) => success).length, 3);
});

async function startRedis() {
  const server = await startRedisServer();
  return { url: server.url, [Symbol.asyncDispose]: () => server.stop() };
}
