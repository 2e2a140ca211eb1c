import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { bucketKey, contracts, OFFERED_TOOLS_BUCKET, OfferedTools, ServiceError } from '@switchyard/contracts';
import { openHost, type Host } from '@switchyard/service-kit';
import { silentLogger } from '@switchyard/telemetry';
import { openNats, principal, startProcess, tempDir } from '@switchyard/testkit';
import { putAgent, skillText } from './tools.fixture.ts';

const NATS_OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';
const SKILLS = 12;
const KILLS = 6;
/** Acknowledged writes of a process before it is killed. */
const WRITES = 25;
const RETRY_MS = 50;

/** Serves the record of audited calls, without which they are refused. */
async function serveAudit(host: Host): Promise<void> {
  const handlers = {
    'audit.begin': () => ({ begun: true as const }),
    'audit.finish': () => ({ recorded: true as const }),
    'audit.looked': () => ({ recorded: true as const }),
  };
  await (await host.connect('secrets')).serve(contracts.secrets, handlers, { version: '0.0.0' });
}

test(
  `an acknowledged change of a skill survives, and each skill has one whole version, after ${KILLS} kills`,
  { timeout: 240_000, skip: NATS_OFF },
  async (t) => {
    const nats = await openNats();
    t.after(() => nats.stop());
    await using data = await tempDir();
    const env = { SWITCHYARD_BUS: nats.url, SWITCHYARD_CONFIG: ':' };
    await using host = await openHost({ env: { ...env, SWITCHYARD_DATA: join(data.path, 'test') }, log: silentLogger() });
    await serveAudit(host);
    await putAgent(host.bus, 'default');
    const gateway = (await host.connect('gateway')).as(principal({ scopes: ['*'] }));
    const sessions = (await host.connect('sessions')).as(principal({ agent: 'default' }));
    const start = () =>
      startProcess([process.execPath, join(import.meta.dirname, 'main.ts')], {
        env: { ...env, SWITCHYARD_DATA: join(data.path, 'tools') },
        ready: /"msg":"serving"/,
        timeoutMs: 60_000,
      });
    let replica = await start();
    t.after(() => replica.end('SIGKILL'));

    /** The last acknowledged version of each skill; undefined after a deletion. */
    const acknowledged = new Map<string, number | undefined>();
    /** Versions whose write was not answered: they may exist or not. */
    const unanswered = new Map<string, Set<number | undefined>>();
    let [version, acknowledgements] = [0, 0];
    let onAcknowledged = Promise.withResolvers<void>();
    let done = false;
    t.after(() => (done = true));

    async function writeForever(name: string): Promise<void> {
      while (!done) {
        const next = (version += 1);
        const isDeletion = next % 7 === 0 && acknowledged.get(name) !== undefined;
        const content = skillText(name, { description: `v${next}`, body: `v${next}` });
        const write = isDeletion ? gateway.call('skills.delete', { name }) : gateway.call('skills.create', { name, content, force: true });
        const written = isDeletion ? undefined : next;
        const open = unanswered.get(name) ?? new Set();
        unanswered.set(name, open.add(written));
        try {
          await write;
          acknowledged.set(name, written);
          open.clear();
          acknowledgements += 1;
          if (acknowledgements % WRITES === 0) onAcknowledged.resolve();
        } catch (error) {
          assert.ok(error instanceof ServiceError && ['UNAVAILABLE', 'NOT_FOUND'].includes(error.code), String(error));
          // The process is dead, or an unanswered deletion was executed.
          await sleep(RETRY_MS);
        }
      }
    }

    const names = Array.from({ length: SKILLS }, (_, n) => `skill-${n}`);
    const writers = names.map(writeForever);
    for (let kill = 0; kill < KILLS; kill += 1) {
      onAcknowledged = Promise.withResolvers();
      await onAcknowledged.promise;
      await replica.end('SIGKILL');
      replica = await start();
    }
    done = true;
    await Promise.all(writers);
    await replica.end('SIGKILL');
    replica = await start();

    const { skills } = await gateway.call('skills.list', {});
    const found = new Map(skills.map(({ name, description }) => [name, Number(description.slice(1))]));
    t.diagnostic(`${acknowledgements} of ${version} writes acknowledged, ${skills.length} of ${SKILLS} skills at the end`);
    for (const name of names) {
      const possible = [acknowledged.get(name), ...(unanswered.get(name) ?? [])];
      assert.ok(possible.includes(found.get(name)), `${name} has version ${found.get(name)}, expected one of ${possible.join()}`);
    }
    for (const [name, number] of found) {
      const { result } = await sessions.call('tools.use', { name: `skill__${name}`, input: {} });
      assert.equal((result as { instructions: string }).instructions, `v${number}`);
    }
    const entry = await (await host.bus.kv(OFFERED_TOOLS_BUCKET)).get(bucketKey('default', 'default'));
    const offer = entry?.value ? OfferedTools.parse(JSON.parse(Buffer.from(entry.value).toString())).tools : [];
    assert.deepEqual(offer.map(({ provider }) => provider).toSorted(), [...found.keys()].toSorted());
  },
);
