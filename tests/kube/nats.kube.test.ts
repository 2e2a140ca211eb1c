import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { CHARTS, createNamespace, FEW_SERVICES, NO_PODS, setValues, WAIT, type Namespace } from './cluster.ts';
import { startLoad } from './load.ts';

const SERVERS = 3;
const CALLS_PER_SECOND = 50;
const VALUES = { 'platform.nats.replicas': SERVERS, 'platform.nats.streamCopies': SERVERS };
/** Each server ends after its lame-duck period. */
const ROLLED_OUT = '--timeout=400s';

describe('three servers of NATS', { skip: NO_PODS, timeout: 1_200_000 }, () => {
  let namespace: Namespace;
  before(async () => {
    namespace = await createNamespace('nats');
    await namespace.helm('install', 'switchyard', `${CHARTS}/switchyard`, ...FEW_SERVICES, ...setValues(VALUES), ...WAIT);
  });
  after(() => namespace[Symbol.asyncDispose]());

  test('a killed server fails no call of a client that retries', async (t) => {
    await using load = startLoad({ ...(await namespace.access()), callsPerSecond: CALLS_PER_SECOND, name: 'killed' });
    await namespace.kubectl('delete', 'pod', 'switchyard-nats-0', '--grace-period=0', '--force');
    await namespace.kubectl('rollout', 'status', 'statefulset/switchyard-nats', ROLLED_OUT);
    t.diagnostic(JSON.stringify(await load.end()));
  });

  test('are replaced one after the other, and no call fails', async (t) => {
    const old = new Set((await namespace.pods('nats')).map(({ uid }) => uid));
    assert.equal(old.size, SERVERS);
    await using load = startLoad({ ...(await namespace.access()), callsPerSecond: CALLS_PER_SECOND, name: 'replaced' });
    await namespace.kubectl('rollout', 'restart', 'statefulset/switchyard-nats');
    await namespace.kubectl('rollout', 'status', 'statefulset/switchyard-nats', ROLLED_OUT);
    t.diagnostic(JSON.stringify(await load.end()));
    assert.ok((await namespace.pods('nats')).every(({ uid }) => !old.has(uid)));
  });
});
