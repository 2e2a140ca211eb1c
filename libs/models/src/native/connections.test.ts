import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { sections, ServiceError } from '@switchyard/contracts';
import { NATIVE_WIRES, startNativeUpstream, type NativeReply, type NativeWire } from '@switchyard/testkit';
import type { Adapter, Attempt } from '../model/adapter.ts';
import { openConnectionPool, type ConnectionPool } from '../http/connection-pool.ts';
import { request } from '../models.fixture.ts';
import { providerSettings } from '../providers/provider-settings.ts';
import { createNativeAdapter } from './native-adapter.ts';
import { NATIVE_APIS, type LibraryModel } from './native-apis.ts';

const GIVEN_UP_MS = 10_000;

async function speaking(wire: NativeWire, baseUrl: string, origins: ConnectionPool): Promise<Adapter> {
  const { entries } = sections.providers.parse({ entries: { up: { type: wire, baseUrl } } });
  const settings = providerSettings({ entries }, { env: {}, hosts: [] }).get('up') ?? assert.fail();
  return createNativeAdapter({ ...settings, protocol: wire }, undefined, origins);
}

function attempt(signal = AbortSignal.timeout(GIVEN_UP_MS), modelId = 'one'): Attempt {
  return { request: request({ model: { provider: 'up', modelId } }), nonStreaming: false, signal, number: 1, onAlive: () => undefined };
}

/** Runs a call and returns its finish reason or error. */
async function getEnd(adapter: Adapter, asked: Attempt = attempt()): Promise<unknown> {
  try {
    const pieces = adapter.stream(asked);
    for (;;) {
      const { done, value } = await pieces.next();
      if (done === true) return value.finish;
    }
  } catch (error) {
    return error;
  }
}

for (const wire of ['anthropic', 'google'] as const) {
  const text: NativeReply = { writes: NATIVE_WIRES[wire].events({ says: [{ text: 'one' }] }) };
  const stalls: NativeReply = { writes: text.writes.slice(0, 1), ending: 'stall' };

  test(`${wire}: limits running and waiting calls`, async () => {
    await using upstream = await startNativeUpstream(stalls, text);
    const adapter = await speaking(wire, upstream.url, await openConnectionPool({ maxRunning: 1, maxWaiting: 1 }));
    const leaving = new AbortController();
    const first = getEnd(adapter, attempt(leaving.signal));
    await upstream.pending;
    const second = getEnd(adapter);
    const third = await getEnd(adapter);
    assert.ok(third instanceof ServiceError && third.details.reason === 'UPSTREAM_CROWDED');
    assert.equal(upstream.requests.length, 1);
    leaving.abort();
    await first;
    assert.equal(await second, 'stop');
  });

  test(`${wire}: admits the next call after any ending`, async () => {
    const refused: NativeReply = { status: 400, headers: { 'content-type': 'application/json' }, writes: ['{}'] };
    const cut: NativeReply = { ...stalls, ending: 'cut' };
    await using upstream = await startNativeUpstream(text, refused, cut, text);
    const adapter = await speaking(wire, upstream.url, await openConnectionPool({ maxRunning: 1, maxWaiting: 1 }));
    const ends = [await getEnd(adapter), await getEnd(adapter), await getEnd(adapter), await getEnd(adapter)];
    assert.deepEqual(
      ends.map((end) => (end instanceof Error ? 'failed' : end)),
      ['stop', 'failed', 'failed', 'stop'],
    );
    assert.equal(upstream.requests.length, 4);
  });
}

/** Replaces the SDK client and requests the URL of the test. */
function libraryThat(sendRequest: (abortSignal: AbortSignal | undefined) => Promise<unknown>): LibraryModel {
  const doStream: LibraryModel['doStream'] = async ({ abortSignal }) => {
    await sendRequest(abortSignal);
    return { stream: new ReadableStream({ start: (stream) => stream.close() }) };
  };
  return { specificationVersion: 'v4', provider: 'up', modelId: 'one', supportedUrls: {}, doStream, doGenerate: () => assert.fail() };
}

test('restricts the SDK to the configured address', async (t) => {
  const reached: unknown[] = [];
  const origins = {
    ...(await openConnectionPool()),
    dispatch: ({ origin, path }: { origin?: unknown; path: string }) => reached.push([origin, path]),
  };
  const urls = ['http://127.0.0.1:9/v1/messages', 'http://up.example:81/v1', 'https://up.example/v1', 'http://up.example@evil.example/v1'];
  const texts: unknown[] = [];
  t.mock.method(NATIVE_APIS.anthropic, 'load', async ({ fetch: getInput }: { fetch: typeof fetch }) => () => {
    const asks = async (signal: AbortSignal | undefined): Promise<void> => {
      const init = { method: 'POST', body: '{}', ...(signal ? { signal } : {}) };
      for (const url of urls) texts.push(await getInput(url, init).catch((error: unknown) => error));
      // A request without an exchange is rejected.
      texts.push(await getInput('http://up.example/v1', { method: 'POST', body: '{}' }).catch((error: unknown) => error));
    };
    return libraryThat(asks);
  });
  await getEnd(await speaking('anthropic', 'http://up.example/v1', origins));
  assert.deepEqual(
    texts.map(String),
    Array.from({ length: 5 }, () => 'TypeError: not a call'),
  );
  assert.deepEqual(reached, []);
});

test('creates the client of a model once', async (t) => {
  const { load } = NATIVE_APIS.google;
  const createdItems: string[] = [];
  t.mock.method(NATIVE_APIS.google, 'load', async (options: Parameters<typeof load>[0]) => {
    const make = await load(options);
    return (modelId: string) => {
      createdItems.push(modelId);
      return make(modelId);
    };
  });
  await using upstream = await startNativeUpstream({ writes: NATIVE_WIRES.google.events({ says: [{ text: 'one' }] }) });
  const adapter = await speaking('google', upstream.url, await openConnectionPool());
  for (const modelId of ['one', 'two', 'one', 'two']) assert.equal(await getEnd(adapter, attempt(undefined, modelId)), 'stop');
  assert.deepEqual(createdItems, ['one', 'two']);
});

test('loads an SDK provider on first use', async () => {
  const script = `
    import { registerHooks } from 'node:module';
    const loaded = new Set();
    registerHooks({ resolve(specifier, context, next) {
      const found = next(specifier, context);
      const name = /node_modules.(@ai-sdk.[a-z]+)/.exec(found.url)?.[1];
      if (name === '@ai-sdk/anthropic' || name === '@ai-sdk/google') loaded.add(name);
      return found;
    } });
    const { sections } = await import('@switchyard/contracts');
    const { createProviderClients } = await import('./src/provider-clients.ts');
    const { providerSettings } = await import('./src/providers/provider-settings.ts');
    const types = process.argv.slice(1);
    const entries = Object.fromEntries(types.map((type) => [type, { type, baseUrl: 'http://127.0.0.1:9/v1' }]));
    const settings = providerSettings(sections.providers.parse({ entries }), { env: {}, hosts: [] });
    const clients = createProviderClients();
    const seen = [];
    for (const name of types) {
      await clients.adapter(settings.get(name), undefined);
      seen.push([...loaded]);
    }
    console.log(JSON.stringify(seen));
  `;
  const cwd = new URL('../../', import.meta.url);
  for (const types of [
    ['openai-compatible', 'google', 'anthropic'],
    ['anthropic', 'google'],
  ]) {
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script, ...types], { cwd });
    const libraries = types.map((type) => (type === 'openai-compatible' ? [] : [`@ai-sdk/${type}`]));
    assert.deepEqual(
      JSON.parse(stdout),
      types.map((_, at) => libraries.slice(0, at + 1).flat()),
    );
  }
});
