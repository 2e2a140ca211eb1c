import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findPublishedOrigin, ServiceError } from '@switchyard/contracts';
import { BUILT_IN } from '../catalogue/built-in.ts';
import { startUpstream } from '@switchyard/testkit';
import { mapHosts } from '@switchyard/egress/testing';
import type { Models } from '../index.ts';
import { explainKeyRefusal } from './key-origin.ts';
import { KEY, LOCAL, open, request, run, TEXT } from '../models.fixture.ts';

const ELSEWHERE = 'https://elsewhere.example/v1';

test('sends only provider keys to a configured address', async () => {
  const others = [
    'SWITCHYARD_TOKEN',
    'SECRETS_MASTER_KEY',
    'DATABASE_URL',
    'AWS_SECRET_ACCESS_KEY',
    'DEPLOY_SSH_KEY',
    'DISCORD_TOKEN',
    'PATH',
  ];
  for (const apiKeyName of others) {
    await using upstream = await startUpstream(TEXT);
    const requests: string[] = [];
    const models = open({
      entries: { local: { type: 'openai-compatible', baseUrl: upstream.url, apiKeyName, models: [{ id: LOCAL.modelId }] } },
      secret: async (name) => {
        requests.push(name);
        return KEY;
      },
      env: { [apiKeyName]: KEY },
    });
    const { error } = await run(models, request());
    assert.ok(error instanceof Error);
    assert.match(error.message, new RegExp(`provider local: ${apiKeyName} is not the name of a provider key: .* _API_KEY`));
    assert.ok(!requests.includes(apiKeyName));
    assert.ok(!(await models.providers()).includes('local'));
    assert.equal(upstream.requests.length, 0);
  }
  for (const name of ['LOCAL_API_KEY', 'LOCAL_KEY', 'REPLICATE_API_TOKEN', 'HF_TOKEN'])
    assert.equal(explainKeyRefusal(name, ELSEWHERE, {}), undefined);
});

test('explainKeyRefusal allows the key of a built-in provider only for its host or OPENAI_BASE_URL', () => {
  const env = { OPENAI_BASE_URL: 'http://127.0.0.1:4000/v1' };
  for (const home of ['https://api.openai.com/v1', 'https://eu.api.openai.com/v1', 'http://127.0.0.1:4000/other'])
    assert.equal(explainKeyRefusal('OPENAI_API_KEY', home, env), undefined, home);
  for (const address of [
    ELSEWHERE,
    'http://api.openai.com/v1',
    'https://api.openai.com:8443/v1',
    'https://api.openai.com.elsewhere.example/v1',
    'https://xapi.openai.com/v1',
    'https://api.openai.com@elsewhere.example/v1',
    'http://127.0.0.1:4001/v1',
  ])
    assert.match(explainKeyRefusal('OPENAI_API_KEY', address, env) ?? '', /OPENAI_API_KEY is only sent to api\.openai\.com/, address);
  assert.match(explainKeyRefusal('ANTHROPIC_API_KEY', 'http://127.0.0.1:4000/v1', env) ?? '', /only sent to api\.anthropic\.com/);
});

test('does not send the default key of a provider to a custom address', async () => {
  await using upstream = await startUpstream(TEXT);
  const models = open({
    entries: { openai: { type: 'openai', baseUrl: upstream.url, models: [{ id: 'small' }] } },
    secret: async (name) => (name === 'OPENAI_API_KEY' ? KEY : null),
  });
  const asked = request({ model: { provider: 'openai', modelId: 'small' } });
  assert.equal((await run(models, asked)).error, undefined);
  assert.equal(upstream.requests[0]?.headers.authorization, undefined);

  upstream.respond({ kind: 'status', status: 401 });
  const { error } = await run(models, asked);
  assert.equal(
    (error as Error).message,
    'provider openai requires a key. OPENAI_API_KEY is only sent to api.openai.com: store the key under another name ' +
      'and use that name in providers.entries.openai.apiKeyName',
  );
});

test('does not use a key that is bound to another origin', async () => {
  await using upstream = await startUpstream(TEXT);
  const asked: unknown[] = [];
  const entry = { type: 'openai-compatible', baseUrl: upstream.url, models: [{ id: LOCAL.modelId }] };
  const { origin } = new URL(upstream.url);
  const models = open({
    entries: { local: { ...entry, apiKeyName: 'MOVED_API_KEY' }, other: { ...entry, apiKeyName: 'OWN_API_KEY' } },
    secret: async (...one) => {
      asked.push(one);
      if (one[0] === 'OWN_API_KEY') return KEY;
      throw new ServiceError('PERMISSION_DENIED', 'MOVED_API_KEY belongs elsewhere', { details: { reason: 'KEY_ORIGIN' } });
    },
    env: { MOVED_API_KEY: KEY },
  });
  const { error } = await run(models, request());
  assert.deepEqual(
    [(error as ServiceError).code, (error as Error).message],
    ['FAILED_PRECONDITION', 'provider local: MOVED_API_KEY belongs elsewhere'],
  );
  assert.equal(upstream.requests.length, 0);
  assert.deepEqual(await models.providers(), ['other']);
  assert.equal((await run(models, request({ model: { ...LOCAL, provider: 'other' } }))).error, undefined);
  assert.deepEqual(asked[0], ['MOVED_API_KEY', origin], 'whoever keeps it is told where it would go');
});

test('reads the key of a built-in provider without an origin', async () => {
  const asked: (string | undefined)[] = [];
  const models = open({ secret: async (_, origin) => (asked.push(origin), KEY) });
  await models.providers();
  assert.ok(asked.length > 0 && asked.every((origin) => origin === undefined));
});

test('rejects redirects of embeddings calls', async () => {
  await using elsewhere = await startUpstream(TEXT);
  await using upstream = await startUpstream({ kind: 'redirect', to: `${elsewhere.url}/embeddings` });
  const local = { type: 'openai-compatible', baseUrl: upstream.url, apiKeyName: 'LOCAL_KEY', models: [{ id: 'small' }] };
  const models = open({ entries: { local }, secret: async () => KEY });
  const asked = { model: LOCAL, input: ['x'], signal: new AbortController().signal, promptTimeoutMs: 5_000 };
  await assert.rejects(models.embed(asked), { code: 'FAILED_PRECONDITION' });
  assert.deepEqual([upstream.requests.length, elsewhere.requests.length], [1, 0]);
});

test('does not call a provider outside allowedNetHosts', async () => {
  await using upstream = await startUpstream(TEXT);
  const entry = { type: 'openai-compatible', models: [{ id: LOCAL.modelId }] };
  const entries = { local: { ...entry, baseUrl: upstream.url } };
  const elsewhere = open({ entries, allowedNetHosts: ['api.example.com'] });
  const { error } = await run(elsewhere, request());
  assert.ok(error instanceof ServiceError);
  assert.deepEqual([error.details.reason, upstream.requests.length], ['HOST_NOT_ALLOWED', 0]);
  assert.match(error.message, /^provider local: 127\.0\.0\.1 must not be called: security\.permission\.allowedNetHosts/);
  assert.ok(!(await elsewhere.providers()).includes('local'));
  const here = open({ entries, allowedNetHosts: ['api.example.com', '127.0.0.1'] });
  assert.equal((await run(here, request())).error, undefined);
  assert.ok((await here.providers()).includes('local'));
});

test('calls providers at private addresses but no metadata service, and reports one without a retry', async () => {
  await using upstream = await startUpstream(TEXT);
  const port = Number(new URL(upstream.url).port);
  let resolutions = 0;
  const answer = (address: string) => (): string[] => {
    resolutions += 1;
    return [address];
  };
  using _hosts = mapHosts({
    'private.example': { port, addresses: answer('10.0.0.1') },
    'metadata.example': { port, addresses: answer('169.254.169.254') },
  });
  const openAt = (host: string): Models => {
    const baseUrl = upstream.url.replace('127.0.0.1', host);
    return open({ entries: { local: { type: 'openai-compatible', baseUrl, models: [{ id: LOCAL.modelId }] } } });
  };
  assert.equal((await run(openAt('private.example'), request())).error, undefined);
  assert.deepEqual([upstream.requests.length, resolutions], [1, 1]);

  const { error } = await run(openAt('metadata.example'), request());
  assert.ok(error instanceof ServiceError);
  assert.equal(error.details.reason, 'HOST_NOT_ALLOWED');
  assert.match(
    error.message,
    /^provider local: metadata\.example must not be called: 169\.254\.169\.254 is the address of a metadata service/,
  );
  assert.deepEqual([upstream.requests.length, resolutions], [1, 2]);
});

test('the published origin of each built-in provider is the origin of its address', () => {
  for (const { keyName, baseUrl } of Object.values(BUILT_IN)) assert.equal(findPublishedOrigin(keyName), new URL(baseUrl).origin);
  assert.equal(findPublishedOrigin('LOCAL_API_KEY'), undefined);
  assert.equal(findPublishedOrigin('OPENAI_BASE_URL'), undefined);
});
