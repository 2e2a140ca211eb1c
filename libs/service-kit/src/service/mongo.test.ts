import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { gateway as contract } from '@switchyard/contracts';
import { collection } from '@switchyard/store';
import { silentLogger } from '@switchyard/telemetry';
import { startOwnMongo, startProcess, tempDir, type OwnMongoServer } from '@switchyard/testkit';
import { z } from 'zod';
import { defineService } from './service-definition.ts';
import { openHost } from '../host/host.ts';
import { startService } from './service-start.ts';

const things = collection({ name: 'things', key: 'id', schema: z.object({ id: z.string() }) });

const keeping = defineService({
  contract,
  version: '1.0.0',
  settings: [],
  async setup({ store }) {
    await store.open({ things });
    return { 'system.ping': () => ({ pong: true, ts: store.now() }) };
  },
});

let server: OwnMongoServer;
before(async () => (server = await startOwnMongo()));
after(() => server.stop());

test('waits for an unreachable database at the start and reports it as not ready', async (t) => {
  await using data = await tempDir();
  await server.kill();
  const env = { SWITCHYARD_DATA: data.path, SWITCHYARD_CONFIG: ':', SWITCHYARD_STORE: server.url };
  await using host = await openHost({ env, log: silentLogger() });
  const starting = startService(keeping, host);
  t.after(async () => (await starting)[Symbol.asyncDispose]());
  const store = () => host.health.readiness().dependencies['store'];
  while (!store()?.reason?.startsWith('the database at 127.0.0.1:')) await wait(50);
  assert.equal(host.health.readiness().ready, false);
  await server.restart();
  await starting;
  assert.equal(store()?.ready, true);
  assert.equal(host.health.readiness().ready, true);
});

test('a permanent database error ends the start with a sentence that names the variable', async () => {
  await using data = await tempDir();
  const main = `
    import { gateway } from '@switchyard/contracts';
    import { defineService, runService } from '@switchyard/service-kit';
    await runService(defineService({ contract: gateway, version: '1.0.0', settings: [], async setup({ store }) {
      await store.open({});
      return { 'system.ping': () => ({ pong: true, ts: 1 }) };
    }}));
  `;
  const file = join(data.path, 'store-url');
  await writeFile(file, `${server.url.replace('mongodb://', 'mongodb://sessions:hunter2@')}\n`);
  const cases = [
    [
      { SWITCHYARD_STORE_FILE: file },
      /^gateway cannot start: SWITCHYARD_STORE cannot be used: the database at .* rejects the user sessions, .*\.$/m,
    ],
    [
      { SWITCHYARD_STORE: 'mongodb://me:hunter2%@host' },
      /^gateway cannot start: SWITCHYARD_STORE cannot be used: the store URL is not a URL of MongoDB; .*\.$/m,
    ],
  ] as const;
  for (const [variables, sentence] of cases) {
    await using started = await startProcess([process.execPath, '--input-type=module-typescript', '--eval', main], {
      env: { SWITCHYARD_DATA: data.path, SWITCHYARD_CONFIG: ':', ...variables },
      cwd: import.meta.dirname,
    });
    assert.deepEqual(await started.exited, { code: 1, signal: null });
    assert.match(started.output(), sentence);
    assert.ok(!/hunter2|\n\s+at /.test(started.output()), started.output());
  }
});
