import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { kubectl } from '../../scripts/kube/kubectl.ts';
import { CHARTS, createNamespace, HELM_VERSIONS, NO_PODS, WAIT, type HelmVersion, type Namespace } from './cluster.ts';
import { retryUnavailable } from './retry.ts';

const READY_SECONDS = 60;
const TURNS = 10;
/** NATS, provisioning and ten services. */
const MIN_PODS = 12;
const STATISTICS_TIMEOUT_MS = 90_000;
const POLL_MS = 1_000;

/** Statistics of a node, as the kubelet reports them. */
interface Summary {
  pods: { podRef: { name: string; namespace: string }; memory?: { workingSetBytes: number } }[];
}

for (const version of HELM_VERSIONS) testInstallation(version);

function testInstallation({ version, program, skip }: HelmVersion): void {
  describe(`an installation without values by Helm ${version}`, { skip: skip === false ? NO_PODS : skip, timeout: 900_000 }, () => {
    let namespace: Namespace;
    let seconds = 0;

    before(async () => {
      namespace = await createNamespace(`install-${version}`, program);
      const begin = performance.now();
      await namespace.helm('install', 'switchyard', `${CHARTS}/switchyard`, ...WAIT);
      seconds = (performance.now() - begin) / 1_000;
    });
    after(() => namespace[Symbol.asyncDispose]());

    test('is ready within 60 seconds', (t) => {
      t.diagnostic(`ready after ${seconds.toFixed(1)} s`);
      assert.ok(seconds < READY_SECONDS, `ready after ${seconds.toFixed(1)} s`);
    });

    test('the memory of every idle pod is reported', async (t) => {
      const pods = await awaitMemory();
      for (const { name, bytes } of pods) t.diagnostic(`${name} ${Math.round(bytes / 2 ** 20)} MiB`);
      assert.ok(pods.length >= MIN_PODS);
    });

    test('helm test runs a turn', async () => {
      const output = await namespace.helm('test', 'switchyard', '--logs', '--timeout', '90s');
      assert.match(output, /Phase:\s+Succeeded/);
      assert.match(output, /"finishReason":"/);
    });

    test('a killed pod of sessions loses no turn and repeats none', async () => {
      const client = await namespace.connect();
      const [pod] = await namespace.pods('sessions');
      const turns = Array.from({ length: TURNS }, (_, n) => `question-${n}`).map((message) =>
        retryUnavailable(() => client.call('agent.execute', { message, sessionKey: { channelId: message } }, { idempotencyKey: message })),
      );
      await namespace.kubectl('delete', 'pod', pod?.name ?? '', '--grace-period=0', '--force');
      for (const { response } of await Promise.all(turns)) assert.match(response, /question-\d$/);
      for (let n = 0; n < TURNS; n++) {
        const { messages } = await retryUnavailable(() => client.call('session.history', { channelId: `question-${n}` }));
        assert.deepEqual(
          messages.map(({ role }) => role),
          ['user', 'assistant'],
          `question-${n}`,
        );
      }
      client.close();
    });

    /** The kubelet reports the memory of a new pod some seconds after its start. */
    async function awaitMemory(): Promise<{ name: string; bytes: number }[]> {
      const deadline = performance.now() + STATISTICS_TIMEOUT_MS;
      for (;;) {
        const summary = JSON.parse(await kubectl(['get', '--raw', '/api/v1/nodes/node-1/proxy/stats/summary'])) as Summary;
        const own = summary.pods.filter(({ podRef }) => podRef.namespace === namespace.name);
        const pods = own.map(({ podRef, memory }) => ({ name: podRef.name, bytes: memory?.workingSetBytes ?? 0 }));
        if (pods.length >= MIN_PODS && pods.every(({ bytes }) => bytes > 0)) return pods;
        assert.ok(performance.now() < deadline, `the kubelet reports no memory: ${JSON.stringify(pods)}`);
        await sleep(POLL_MS);
      }
    }
  });
}
