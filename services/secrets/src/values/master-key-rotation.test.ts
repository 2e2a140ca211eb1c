import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { SEALING_KEY } from '@switchyard/contracts';
import { createSecretReader, startService, type Host } from '@switchyard/service-kit';
import type { TestService } from '@switchyard/testkit';
import { ENV, start } from '../secrets.fixture.ts';
import { secrets } from '../service.ts';

const [OLD, NEW] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')];
const SYNC_BATCH_SIZE = 8;

/** Starts a further replica on the same documents with other master keys. */
function replica({ host }: TestService, keys: Record<string, string>): Promise<AsyncDisposable> {
  const variables = { SWITCHYARD_TOKEN: ENV, ...keys };
  const environment = { ...host.environment, variables };
  return startService(secrets, Object.create(host, { environment: { value: environment } }) as Host);
}

test('no call fails while the master key is rotated on two replicas under load', { timeout: 60_000 }, async () => {
  await using app = await start({ env: { SWITCHYARD_TOKEN: ENV, SECRETS_MASTER_KEY: OLD } });
  await app.bus.call('env.set', { key: 'READ_KEY', value: 'set before' });
  const read = createSecretReader(await app.host.connect('sessions'), 'sessions');
  let ended = false;
  let reads = 0;
  const asking = Array.from({ length: SYNC_BATCH_SIZE }, async () => {
    while (!ended) {
      assert.equal(await read('READ_KEY'), 'set before');
      reads++;
    }
  });
  const load = Promise.all(asking);
  const served = async (more: number): Promise<void> => {
    for (const deadline = reads + more; reads < deadline;) await Promise.race([load, new Promise((tick) => setImmediate(tick))]);
  };
  try {
    await served(50);
    const both = await replica(app, { SECRETS_MASTER_KEY: NEW, SECRETS_MASTER_KEY_PREVIOUS: OLD });
    await served(100);
    const sealedTo = await Promise.all(Array.from({ length: 6 }, () => app.bus.call(SEALING_KEY, {})));
    assert.equal(new Set(sealedTo.map(({ key }) => key)).size, 1, 'every replica issues the same key');
    await app.bus.call('env.set', { key: 'SET_IN_BETWEEN', value: 'by whichever replica' });
    const last = await replica(app, { SECRETS_MASTER_KEY: NEW });
    await served(100);
    await both[Symbol.asyncDispose]();
    await served(50);
    assert.equal(await read('SET_IN_BETWEEN'), 'by whichever replica');
    await assert.rejects(replica(app, { SECRETS_MASTER_KEY: OLD }), /not the key that the stored secrets are encrypted with/);
    const { records, forged } = await app.bus.call('audit.read', { after: 0, limit: 10 });
    assert.deepEqual([records.length, records.every(({ mac }) => mac !== undefined), forged], [2, true, undefined]);
    await last[Symbol.asyncDispose]();
  } finally {
    ended = true;
    await load;
  }
  assert.ok(reads >= 300, `${reads} reads`);
});
