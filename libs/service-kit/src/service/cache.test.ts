import assert from 'node:assert/strict';
import { after, before, test, type TestContext } from 'node:test';
import type { Cache } from '@switchyard/cache';
import { gateway as contract } from '@switchyard/contracts';
import { silentLogger } from '@switchyard/telemetry';
import { startProcess, startRedisServer, tempDir, type RedisServer } from '@switchyard/testkit';
import { defineService } from './service-definition.ts';
import { openHost, type Host } from '../host/host.ts';
import { startService } from './service-start.ts';

const rate = { max: 1, windowMs: 60_000 };

let server: RedisServer;
before(async () => (server = await startRedisServer({ password: 's3cret' })));
after(() => server.stop());

/** A service that opens its cache twice. */
function counting(seen: Cache[]) {
  return defineService({
    contract,
    version: '1.0.0',
    settings: [],
    async setup({ cache }) {
      seen.push(...(await Promise.all([cache(), cache()])));
      return { 'system.ping': () => ({ pong: true, ts: 1 }) };
    },
  });
}

async function host(t: TestContext, cache: string): Promise<Host> {
  const data = await tempDir();
  t.after(() => data[Symbol.asyncDispose]());
  const env = { SWITCHYARD_DATA: data.path, SWITCHYARD_CONFIG: ':', SWITCHYARD_CACHE: cache };
  const opened = await openHost({ env, log: silentLogger() });
  t.after(() => opened[Symbol.asyncDispose]());
  return opened;
}

test('replicas share a cache, and an unused SWITCHYARD_CACHE is reported', async (t) => {
  const seen: Cache[] = [];
  for (let replica = 0; replica < 2; replica++) {
    const on = await host(t, server.url);
    assert.deepEqual(on.unused(), ['SWITCHYARD_CACHE is set, but no service of this process uses a cache.']);
    const running = await startService(counting(seen), on);
    t.after(() => running[Symbol.asyncDispose]());
    assert.deepEqual(on.unused(), []);
  }
  const [first, same, second] = seen;
  assert.equal(first, same);
  assert.equal(await first?.take(['a'], rate), 0);
  assert.ok(((await second?.take(['a'], rate)) ?? 0) > 0);
});

test('each process has its own cache without a server', async (t) => {
  const seen: Cache[] = [];
  const on = await host(t, 'memory:');
  const running = await startService(counting(seen), on);
  t.after(() => running[Symbol.asyncDispose]());
  assert.equal(await seen[0]?.take(['a'], rate), 0);
  assert.deepEqual(on.unused(), []);
});

test('rejected cache credentials end the start with a sentence that names the variable', async () => {
  await using data = await tempDir();
  const main = `
    import { gateway } from '@switchyard/contracts';
    import { defineService, runService } from '@switchyard/service-kit';
    await runService(defineService({ contract: gateway, version: '1.0.0', settings: [], async setup({ cache }) {
      await cache();
      return { 'system.ping': () => ({ pong: true, ts: 1 }) };
    }}));
  `;
  const SWITCHYARD_CACHE = server.url.replace('s3cret', 'wr0ng');
  await using started = await startProcess([process.execPath, '--input-type=module-typescript', '--eval', main], {
    env: { SWITCHYARD_DATA: data.path, SWITCHYARD_CONFIG: ':', SWITCHYARD_CACHE },
    cwd: import.meta.dirname,
  });
  assert.deepEqual(await started.exited, { code: 1, signal: null });
  assert.match(
    started.output(),
    /^gateway cannot start: SWITCHYARD_CACHE cannot be used: the cache server rejects the credentials, .*\.$/m,
  );
  assert.ok(!/s3cret|wr0ng/.test(started.output()), started.output());
});
