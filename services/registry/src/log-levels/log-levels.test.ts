import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { globSync } from 'node:fs';
import { test } from 'node:test';
import { LEVELS_BUCKET, LEVELS_KEY, LogModule } from '@switchyard/contracts';
import { createLogger, type Logger } from '@switchyard/telemetry';
import { principal, startNatsServer, tempDir, testService, type TestService } from '@switchyard/testkit';
import { registry } from '../service.ts';

const ops = principal({ client: 'ops', scopes: ['*'] });
const TIMEOUT = { timeout: 60_000 };

interface Kept {
  log: Logger;
  lines: () => { module: string; msg: string }[];
}

function keptLog(): Kept {
  const lines: { module: string; msg: string }[] = [];
  return {
    log: createLogger({ level: 'info', destination: { write: (line: string) => void lines.push(JSON.parse(line)) } }),
    lines: () => lines,
  };
}

/** Logs one line per module and process and returns which are written. */
function writers(replicas: readonly { app: TestService; kept: Kept }[], level: 'debug' | 'info', modules: readonly string[]): string[][] {
  return replicas.map(({ app, kept }) => {
    const from = kept.lines().length;
    const service = app.host.log.child({ service: 'registry' });
    for (const module of modules) (module === 'registry' ? service : service.child({ module }))[level]('a line of the test');
    return kept
      .lines()
      .slice(from)
      .map((line) => line.module);
  });
}

/** Resolves once the level has reached this process. */
async function messages({ host }: TestService, level: string, module?: LogModule): Promise<void> {
  const receivedFor = Promise.withResolvers<void>();
  const bucket = await host.bus.kv(LEVELS_BUCKET);
  const watch = await bucket.watch(({ key, value }) => {
    if (key !== LEVELS_KEY || value === undefined) return;
    const wish = JSON.parse(Buffer.from(value).toString()) as { all?: string; modules: Record<string, string> };
    if ((module === undefined ? wish.all : wish.modules[module]) === level) setImmediate(receivedFor.resolve);
  });
  await receivedFor.promise;
  watch.stop();
}

async function start(stack: AsyncDisposableStack, options: { url?: string; data: string }) {
  const kept = keptLog();
  const env = options.url === undefined ? {} : { SWITCHYARD_BUS: options.url };
  return { kept, app: stack.use(await testService(registry, { as: ops, data: options.data, log: kept.log, env })) };
}

test('daemon.setLogLevel applies to all replicas of a service, including one that starts later', TIMEOUT, async () => {
  await using stack = new AsyncDisposableStack();
  const server = await startNatsServer();
  stack.defer(() => server.stop());
  const { path: data } = stack.use(await tempDir());
  const first = await start(stack, { url: server.url, data });
  const second = await start(stack, { url: server.url, data });
  assert.deepEqual(writers([first, second], 'debug', ['registry', 'store', 'bus']), [[], []]);

  const set = await first.app.bus.call('daemon.setLogLevel', { level: 'debug', module: 'store' });
  assert.deepEqual(set, { updated: true, level: 'debug', scope: 'module', persistent: false });
  await Promise.all([first, second].map(({ app }) => messages(app, 'debug', 'store')));
  assert.deepEqual(writers([first, second], 'debug', ['registry', 'store', 'bus']), [['store'], ['store']]);

  const third = await start(stack, { url: server.url, data });
  assert.deepEqual(writers([third], 'debug', ['registry', 'store', 'bus']), [['store']]);

  assert.equal((await second.app.bus.call('daemon.setLogLevel', { level: 'error' })).scope, 'global');
  const all = [first, second, third];
  await Promise.all(all.map(({ app }) => messages(app, 'error')));
  assert.deepEqual(writers(all, 'info', ['registry', 'store', 'bus']), [[], [], []]);
});

test('concurrent changes keep the last level and lose no module', TIMEOUT, async () => {
  await using stack = new AsyncDisposableStack();
  const { path: data } = stack.use(await tempDir());
  const one = await start(stack, { data });
  const modules = LogModule.options;
  await Promise.all(modules.map((module) => one.app.bus.call('daemon.setLogLevel', { level: 'trace', module })));
  await messages(one.app, 'trace', 'telemetry');
  assert.deepEqual(writers([one], 'debug', modules.slice()), [modules.slice()]);
});

test('runtime levels end with the installation, and a change of logLevel overrides them', TIMEOUT, async () => {
  await using data = await tempDir();
  {
    await using stack = new AsyncDisposableStack();
    const { app } = await start(stack, { data: data.path });
    await app.bus.call('daemon.setLogLevel', { level: 'debug' });
    await messages(app, 'debug');
    assert.equal(app.host.log.level, 'debug');
    const forgotten = Promise.withResolvers<void>();
    await (
      await app.host.bus.kv(LEVELS_BUCKET)
    ).watch(({ value }) => {
      if (value && !Buffer.from(value).toString().includes('"all"')) setImmediate(forgotten.resolve);
    });
    await app.bus.call('config.patch', { logLevel: 'warn' });
    await forgotten.promise;
    assert.equal(app.host.log.level, 'info', 'the level of the caller');
    await app.bus.call('daemon.setLogLevel', { level: 'trace', module: 'bus' });
  }
  await using stack = new AsyncDisposableStack();
  const again = await start(stack, { data: data.path });
  assert.deepEqual(writers([again], 'debug', ['bus']), [[]]);
});

test('rejects other tenants, and an unknown module with the list of modules', TIMEOUT, async () => {
  await using stack = new AsyncDisposableStack();
  const { path: data } = stack.use(await tempDir());
  const { app } = await start(stack, { data });
  const other = app.bus.as(principal({ tenant: 'other', scopes: ['*'] }));
  await assert.rejects(other.call('daemon.setLogLevel', { level: 'debug' }), { code: 'PERMISSION_DENIED' });
  const typo = app.bus.call('daemon.setLogLevel', { level: 'debug', module: 'sesions' as LogModule });
  await assert.rejects(typo, (error: Error) => /module: expected/.test(error.message) && error.message.includes('sessions'));
});

test('accepts every module that the code logs under', async () => {
  const root = new URL('../../../../', import.meta.url);
  const files = globSync('{libs,services}/*/src/**/*.ts', { cwd: root }).filter((file) => !file.includes('.test.'));
  const used = new Set<string>();
  for (const file of files)
    for (const [, module] of (await readFile(new URL(file, root), 'utf8')).matchAll(/\.child\(\{[^}]*module: '([\w-]+)'/g))
      used.add(module ?? '');
  assert.ok(used.size >= 3);
  for (const module of used) assert.ok(LogModule.safeParse(module).success, module);
});
