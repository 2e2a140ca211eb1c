import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { mintToken } from '@switchyard/security';
import { unbounded } from '@switchyard/testkit';
import { readEnvironment, Table } from './environment.ts';
import { readSecret } from '../variables/secret-variables.ts';

async function tempFile(text: string): Promise<{ file: string } & AsyncDisposable> {
  const dir = await mkdtemp(join(tmpdir(), 'switchyard-'));
  const file = join(dir, 'secret');
  await writeFile(file, text);
  return { file, [Symbol.asyncDispose]: () => rm(dir, { recursive: true }) };
}

test('defaults to in-process adapters and the data directory .switchyard', async () => {
  const { variables, ...table } = await readEnvironment({});
  assert.deepEqual(table, {
    data: '.switchyard',
    dataFrom: 'default',
    bus: 'memory:',
    store: 'sqlite:.switchyard/store',
    cache: 'memory:',
    url: undefined,
    token: undefined,
    replica: undefined,
    probes: { host: '127.0.0.1', metrics: undefined, health: undefined },
    turnStreams: 1,
    busCopies: 1,
    config: undefined,
  });
  assert.deepEqual(variables, {});
});

test('reads variables and treats an empty one as not set', async () => {
  const table = await readEnvironment({
    SWITCHYARD_DATA: '/data',
    SWITCHYARD_BUS: 'nats://a:4222,nats://b:4222',
    SWITCHYARD_CACHE: '',
    SWITCHYARD_CONFIG: 'a.yaml:b.yaml',
    SWITCHYARD_REPLICA: 'sessions-0',
    SWITCHYARD_TURN_STREAMS: '16',
    SWITCHYARD_BUS_COPIES: '3',
  });
  assert.deepEqual([table.store, table.bus, table.cache], ['sqlite:/data/store', 'nats://a:4222,nats://b:4222', 'memory:']);
  assert.deepEqual([table.config, table.replica, table.turnStreams, table.busCopies], [['a.yaml', 'b.yaml'], 'sessions-0', 16, 3]);
});

test('takes the data directory from the setting dataDir if SWITCHYARD_DATA is not set', async () => {
  await using first = await tempFile('dataDir: /first\nlogLevel: warn\n');
  await using last = await tempFile('dataDir: ${BASE}/last\n');
  const files = { SWITCHYARD_CONFIG: `${first.file}:${last.file}`, BASE: '/base' };
  const at = async (env: Record<string, string>) => {
    const { data, dataFrom, store } = await readEnvironment(env);
    return [data, dataFrom, store];
  };
  assert.deepEqual(await at(files), ['/base/last', 'settings', 'sqlite:/base/last/store']);
  assert.deepEqual(await at({ SWITCHYARD_CONFIG: first.file }), ['/first', 'settings', 'sqlite:/first/store']);
  assert.deepEqual((await at({ ...files, SWITCHYARD_DATA_DIR: '/variable' }))[0], '/variable');
  assert.deepEqual((await at({ ...files, SWITCHYARD_DATA: '/data' })).slice(0, 2), ['/data', 'environment']);
  assert.deepEqual((await at({ SWITCHYARD_DATA_DIR: '~/mine' }))[0], join(homedir(), 'mine'));
});

test('accepts cache URLs with credentials, TLS and a database number', async () => {
  for (const url of ['redis://a', 'redis://:p%40ss@a:6379/3', 'rediss://user:word@[::1]:6380/']) {
    assert.equal((await readEnvironment({ SWITCHYARD_CACHE: url })).cache, url);
  }
});

test('rejects an invalid value with a sentence that names the variable and not the value', async () => {
  const typo = `${mintToken('pat').token}x`;
  const bad: [Record<string, string>, RegExp][] = [
    [{ SWITCHYARD_BUS: 'amqp://user:pass@x' }, /^SWITCHYARD_BUS must begin with memory: or nats:\/\/ or tls:\/\/\.$/],
    ...['nats://:::', 'nats://', 'nats://a:pass', 'nats://a,b', 'nats://a, nats://b', 'nats://u:pass%@a', 'memory:pass', 'tls://a b'].map(
      (bus): [Record<string, string>, RegExp] => [
        { SWITCHYARD_BUS: bus },
        /^SWITCHYARD_BUS must be memory: or nats:\/\/host:port; several servers are joined by commas\.$/,
      ],
    ),
    ...['redis://', 'redis://a:pass', 'redis://a/pass', 'redis://a?pass', 'redis://u:pass%@a', 'memory:pass'].map(
      (cache): [Record<string, string>, RegExp] => [
        { SWITCHYARD_CACHE: cache },
        /^SWITCHYARD_CACHE must be memory: or redis:\/\/host:port\.$/,
      ],
    ),
    [{ SWITCHYARD_TOKEN: 'pass' }, /^SWITCHYARD_TOKEN must have at least 32 characters\.$/],
    [{ SWITCHYARD_TOKEN: typo }, /^SWITCHYARD_TOKEN looks like a Switchyard token, but is mistyped or truncated\.$/],
    [{ SWITCHYARD_URL: 'localhost pass' }, /^SWITCHYARD_URL must be a URL such as http:\/\/127\.0\.0\.1:4766\.$/],
    [{ SWITCHYARD_REPLICA: 'a.>pass' }, /^SWITCHYARD_REPLICA must be 1 to 64/],
    ...['0', '17', 'pass', '-1', '2.5', '016'].map((streams): [Record<string, string>, RegExp] => [
      { SWITCHYARD_TURN_STREAMS: streams },
      /^SWITCHYARD_TURN_STREAMS must be a number from 1 to 16\.$/,
    ]),
    ...['0', '6', 'pass', '3.', '03'].map((copies): [Record<string, string>, RegExp] => [
      { SWITCHYARD_BUS_COPIES: copies },
      /^SWITCHYARD_BUS_COPIES must be a number from 1 to 5\.$/,
    ]),
    [{ SWITCHYARD_STORE: 'pass', SWITCHYARD_CACHE: 'pass' }, /^SWITCHYARD_STORE .*\. SWITCHYARD_CACHE .*\.$/],
  ];
  for (const [env, sentence] of bad) {
    await assert.rejects(
      readEnvironment(env),
      (error: Error) => error.name === 'StartError' && sentence.test(error.message) && !error.message.includes('pass'),
    );
  }
});

test('reads a secret from the variable or from the file of its _FILE variable', async () => {
  await using secret = await tempFile('from the file\n');
  assert.equal(await readSecret({ OPENAI_API_KEY: 'a' }, 'OPENAI_API_KEY'), 'a');
  assert.equal(await readSecret({ OPENAI_API_KEY_FILE: secret.file }, 'OPENAI_API_KEY'), 'from the file');
  assert.equal(await readSecret({ OPENAI_API_KEY: '' }, 'OPENAI_API_KEY'), undefined);
  assert.equal(await readSecret({}, 'OPENAI_API_KEY'), undefined);
});

test('rejects a variable and its _FILE together, and an unreadable file', async () => {
  await using secret = await tempFile('x');
  await assert.rejects(readSecret({ A_KEY: 'a', A_KEY_FILE: secret.file }, 'A_KEY'), /^StartError: A_KEY and A_KEY_FILE are both set/);
  await assert.rejects(
    readSecret({ A_KEY_FILE: `${secret.file}.not` }, 'A_KEY'),
    /^StartError: A_KEY_FILE names .* which cannot be read \(ENOENT\)\.$/,
  );
});

test('every variable has a maximum length', async () => {
  assert.deepEqual(unbounded(Table), []);
  await assert.rejects(readEnvironment({ SWITCHYARD_DATA: 'x'.repeat(5_000) }), {
    message: /SWITCHYARD_DATA must have at most 4096 characters\./,
  });
});
