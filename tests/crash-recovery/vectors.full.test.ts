import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { connectBus, type Bus } from '@switchyard/bus';
import { registry, secrets } from '@switchyard/contracts';
import { silentLogger } from '@switchyard/telemetry';
import { principal, startNatsServer, startProcess, tempDir } from '@switchyard/testkit';
import { KILLS } from './service-processes.ts';

const NATS_OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';
const LIMIT = { skip: NATS_OFF, timeout: 180_000 + KILLS * 20_000 };
const MAIN = fileURLToPath(new URL('../../services/memory/src/main.ts', import.meta.url));
const MEMORIES = 30;
const QUESTIONS = ['number 7', 'red', 'boat'];
const WORDS = ['red', 'blue', 'boat', 'tide', 'wind'];

test('the memory service resumes after a kill during embedding, and its index equals a rebuilt one', LIMIT, async () => {
  await using server = { ...(await startNatsServer()), async [Symbol.asyncDispose]() {} };
  await using dir = await tempDir();
  const connect = (service: 'registry' | 'secrets' | 'gateway') =>
    connectBus(server.url, { service, replica: `${service}-of-the-test`, log: silentLogger() });
  const [provider, keeper, gateway] = await Promise.all([connect('registry'), connect('secrets'), connect('gateway')]);
  const sent: string[] = [];
  let dies: (() => void) | undefined;
  const embed = ({ model, input: texts }: { model: string; input: (string | number[])[] }) => {
    const input = texts.map(String);
    sent.push(...input);
    dies?.();
    return { model, vectors: input.map(getVector) };
  };
  await provider.serve(registry, { 'models.embed': embed }, { version: '0.0.0' });
  const keeps = { 'audit.begin': () => ({ begun: true }), 'audit.finish': () => ({ recorded: true }) };
  await keeper.serve(secrets, keeps as never, { version: '0.0.0' });
  const bus = gateway.as(principal({ scopes: ['*'] }));
  const start = (model: string) => launch({ data: dir.path, url: server.url, model });
  let running = await start('first');
  try {
    for (let n = 0; n < MEMORIES; n++) await bus.call('memory.store', { content: `Number ${n}: ${WORDS[n % WORDS.length]}.` });
    await filled(bus);
    for (let n = 1; n <= KILLS; n++) {
      await running.end('SIGKILL');
      const killed = Promise.withResolvers<void>();
      dies = () => killed.resolve(running.end('SIGKILL').then(() => undefined));
      running = await start(`model-${n}`);
      await killed.promise;
      dies = undefined;
      running = await start(`model-${n}`);
      await filled(bus);
      const before = await answers(bus);
      await running.end('SIGKILL');
      await rm(join(dir.path, 'index'), { recursive: true });
      running = await start(`model-${n}`);
      const requestCount = sent.length;
      await filled(bus);
      assert.deepEqual(await answers(bus), before);
      assert.deepEqual(sent.slice(requestCount), QUESTIONS, 'nothing is paid for again');
    }
  } finally {
    await running.end('SIGKILL');
    await Promise.all([provider, keeper, gateway].map((one) => one.drain()));
    await server.stop();
  }
});

function launch({ data, url, model }: { data: string; url: string; model: string }) {
  const env = {
    HOME: data,
    SWITCHYARD_DATA: data,
    SWITCHYARD_CONFIG: ':',
    SWITCHYARD_BUS: url,
    SWITCHYARD_REPLICA: 'memory-1',
    SWITCHYARD_EMBEDDING__PROVIDER: 'openai',
    SWITCHYARD_EMBEDDING__OPENAI__MODEL: model,
    SWITCHYARD_EMBEDDING__OPENAI__DIMENSIONS: '8',
    SWITCHYARD_EMBEDDING__BATCH__BATCH_SIZE: '10',
  };
  return startProcess([process.execPath, MAIN], { env, ready: /"msg":"serving"/, timeoutMs: 60_000 });
}

function getVector(text: string): string {
  return Buffer.from(Float32Array.from({ length: 8 }, (_, at) => (text.includes(WORDS[at] ?? 'number') ? 1 : 0.1)).buffer).toString(
    'base64',
  );
}

async function answers(bus: Bus): Promise<unknown> {
  const matches = [];
  for (const query of QUESTIONS) matches.push((await bus.call('memory.search', { query })).results);
  const { cacheHitRate: _, ...stats } = await bus.call('memory.stats', {});
  return { found: matches, stats };
}

async function filled(bus: Bus): Promise<void> {
  for (const deadline = Date.now() + 30_000; (await bus.call('memory.stats', {})).embeddedEntries !== MEMORIES;) {
    assert.ok(Date.now() < deadline, JSON.stringify(await bus.call('memory.stats', {})));
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
