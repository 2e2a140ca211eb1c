import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startProcess, type StartedProcess } from './test-process.ts';
import { tempDir } from './temp-dir.ts';

/** Starts a service in its own process; `body` is its setup. */
function main(body: string): string[] {
  const script = `
    import { gateway } from '@switchyard/contracts';
    import { defineService, runService } from '@switchyard/service-kit';
    await runService(defineService({ contract: gateway, version: '1.0.0', settings: ['gateway'], setup({ own, bus }) {
      own.defer(() => console.log('own is closed'));
      own.defer(() => clearInterval(alive));
      const alive = setInterval(() => undefined, 1_000);
      ${body}
      return { 'system.ping': () => ({ pong: true, ts: 1 }) };
    } }));
    console.log('it is up');`;
  return [process.execPath, '--input-type=module', '--eval', script];
}

async function run(body: string, env: Record<string, string>, ready?: RegExp): Promise<StartedProcess & AsyncDisposable> {
  return startProcess(main(body), {
    cwd: import.meta.dirname,
    env: { SWITCHYARD_CONFIG: ':', ...env },
    ...(ready === undefined ? {} : { ready }),
  });
}

test('SIGTERM drains the service and exits 0', async () => {
  await using dir = await tempDir();
  await using child = await run('', { SWITCHYARD_DATA: dir.path }, /it is up/);
  assert.deepEqual(child.ready, ['it is up']);
  assert.deepEqual(await child.end('SIGTERM'), { code: 0, signal: null });
  assert.match(child.output(), /own is closed/);
  const lines = child
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'));
  assert.ok(
    lines.some((line) => (JSON.parse(line) as { msg: string }).msg === 'serving'),
    child.output(),
  );
});

test('an uncaught error is logged, drains the service and exits 1', async () => {
  await using dir = await tempDir();
  await using child = await run('setTimeout(() => { throw new Error("bang"); }, 20);', { SWITCHYARD_DATA: dir.path });
  assert.deepEqual(await child.exited, { code: 1, signal: null });
  assert.match(child.output(), /"level":60.*bang/);
  assert.match(child.output(), /own is closed/);
});

test('a hanging drain ends at daemon.shutdownTimeoutMs', async () => {
  await using dir = await tempDir();
  const env = { SWITCHYARD_DATA: dir.path, SWITCHYARD_DAEMON__SHUTDOWN_TIMEOUT_MS: '100' };
  await using child = await run('own.defer(() => new Promise(() => undefined));', env, /it is up/);
  assert.deepEqual(await child.end('SIGTERM'), { code: 1, signal: null });
  assert.match(child.output(), /draining took too long/);
});

test('a failed start prints one sentence without a stack and exits 1', async () => {
  await using dir = await tempDir();
  const cases: [string, Record<string, string>, RegExp][] = [
    ['', { SWITCHYARD_BUS: 'amqp://x' }, /^gateway cannot start: SWITCHYARD_BUS must begin with memory: or nats:\/\/ or tls:\/\/\.\n$/],
    [
      '',
      { SWITCHYARD_PORT: 'many' },
      /^gateway cannot start: Config validation failed: gateway\.port: expected number, got string \(from SWITCHYARD_PORT\)\n$/,
    ],
    ['throw new Error("The token is too short.");', {}, /^own is closed\ngateway cannot start: The token is too short\.\n$/],
  ];
  const refused = async ([body, env, output]: (typeof cases)[number]): Promise<void> => {
    await using child = await run(body, { SWITCHYARD_DATA: dir.path, SWITCHYARD_LOG_LEVEL: 'fatal', ...env });
    assert.deepEqual(await child.exited, { code: 1, signal: null });
    assert.match(child.output(), output);
  };
  await Promise.all(cases.map(refused));
});

test('the loss of the bus drains the service and exits 1', async () => {
  await using dir = await tempDir();
  await using child = await run('setTimeout(() => void bus.drain(), 20);', { SWITCHYARD_DATA: dir.path });
  assert.deepEqual(await child.exited, { code: 1, signal: null });
  assert.match(child.output(), /the connection to the bus was closed permanently/);
  assert.match(child.output(), /own is closed/);
});

test('waits for an unreachable bus until a signal', async () => {
  await using dir = await tempDir();
  const env = { SWITCHYARD_DATA: dir.path, SWITCHYARD_BUS: 'nats://127.0.0.1:9' };
  await using child = await run('', env, /connecting to the bus/);
  assert.deepEqual(await child.end('SIGTERM'), { code: 0, signal: null });
});

test('a missing line or an unknown command fails with the output', async () => {
  const silent = startProcess([process.execPath, '--eval', 'console.log("something else")'], { ready: /never/ });
  await assert.rejects(silent, /ended without \/never\/; it wrote:\nsomething else/);
  await assert.rejects(startProcess(['no-such-command'], { ready: /x/ }), /did not start/);
});

test('disposing kills the process', async () => {
  const child = await startProcess([process.execPath, '--eval', 'setInterval(() => {}, 1000); console.log("here")'], { ready: /here/ });
  await child[Symbol.asyncDispose]();
  assert.deepEqual(await child.exited, { code: null, signal: 'SIGKILL' });
});
