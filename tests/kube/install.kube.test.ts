import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { kubectl } from '../../scripts/kube/kubectl.ts';
import { CHARTS, createNamespace, HELM_VERSIONS, NO_PODS, WAIT, type HelmVersion, type Namespace } from './cluster.ts';
import { retryUnavailable } from './retry.ts';

const READY_SECONDS = 60;
const TURNS = 10;
const MIN_PODS = 10;

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

    test('the memory of every pod is reported', async (t) => {
      const summary = JSON.parse(await kubectl(['get', '--raw', '/api/v1/nodes/node-1/proxy/stats/summary'])) as {
        pods: { podRef: { name: string; namespace: string }; memory?: { workingSetBytes: number } }[];
      };
      const own = summary.pods.filter(({ podRef }) => podRef.namespace === namespace.name);
      for (const { podRef, memory } of own) t.diagnostic(`${podRef.name} ${Math.round((memory?.workingSetBytes ?? 0) / 2 ** 20)} MiB`);
      assert.ok(own.length >= MIN_PODS);
    });
  });
}
