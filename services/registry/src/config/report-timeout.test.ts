import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { ReplicaState } from '@switchyard/service-kit';
import { REPORT_TIMEOUT_MS, watchReports } from './report-timeout.ts';
import type { PublishedVersion } from './head-publisher.ts';

/** Replicas whose reports and connections the test sets, and a clock that it advances. */
function createCluster(t: TestContext, connected: readonly string[]) {
  const states = new Map<string, ReplicaState>();
  const timeouts: { replica: string; revision: number }[] = [];
  const timers = new Set<() => void>();
  let publish: (version: PublishedVersion) => void = () => undefined;
  let notify: (state: ReplicaState) => void = () => undefined;
  const watch = watchReports(
    {
      bus: { isReplicaConnected: async (service, replica) => connected.includes(`${service}.${replica}`) },
      publisher: { onPublished: (listener) => ((publish = listener), () => undefined) },
      replicas: { all: () => [...states.values()], onReport: (listener) => void (notify = listener) },
      clock: {
        now: () => 0,
        soon: (work) => work(),
        every: () => () => undefined,
        after(ms, work) {
          assert.equal(ms, REPORT_TIMEOUT_MS);
          timers.add(work);
          return () => void timers.delete(work);
        },
      },
      log: { warn: (...args: unknown[]) => assert.fail(String(args)) },
    },
    ({ replica, revision }) => timeouts.push({ replica, revision }),
  );
  t.after(() => watch[Symbol.dispose]());
  return {
    timeouts,
    publish: (revision: number) => publish({ revision, sha: `sha${revision}` }),
    report(replica: string, revision: number | undefined, refused?: ReplicaState['refused']) {
      const state = { replica, revision, refused, process: undefined, ready: true };
      states.set(replica, state);
      notify(state);
    },
    leave: (replica: string) => void states.delete(replica),
    async pass() {
      for (const work of timers) work();
      timers.clear();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

test('reports a replica that is connected and does not report the version in time', async (t) => {
  const { timeouts, publish, report, pass } = createCluster(t, ['sessions.hangs', 'gateway.runs', 'memory.refuses', 'secrets.starts']);
  for (const replica of ['sessions.hangs', 'gateway.runs', 'memory.refuses', 'sessions.crashed']) report(replica, 1);
  report('secrets.starts', undefined);
  publish(2);
  report('gateway.runs', 2);
  report('memory.refuses', 1, { revision: 2, reason: 'no' });
  await pass();
  assert.deepEqual(timeouts, [{ replica: 'sessions.hangs', revision: 2 }]);
});

test('ignores a replica that crashed or left before the time limit', async (t) => {
  const { timeouts, publish, report, leave, pass } = createCluster(t, ['sessions.left']);
  for (const replica of ['sessions.crashed', 'sessions.left']) report(replica, 1);
  publish(2);
  leave('sessions.left');
  await pass();
  assert.deepEqual(timeouts, []);
});

test('waits for the newest version only', async (t) => {
  const { timeouts, publish, report, pass } = createCluster(t, ['sessions.a']);
  report('sessions.a', 1);
  publish(2);
  publish(3);
  report('sessions.a', 3);
  await pass();
  assert.deepEqual(timeouts, []);
});

test('reports a replica again only after it ran the newest version', async (t) => {
  const { timeouts, publish, report, pass } = createCluster(t, ['sessions.a']);
  report('sessions.a', 1);
  for (const revision of [2, 3]) {
    publish(revision);
    await pass();
  }
  assert.deepEqual(timeouts, [{ replica: 'sessions.a', revision: 2 }]);
  report('sessions.a', 3);
  publish(4);
  await pass();
  assert.equal(timeouts.at(-1)?.revision, 4);
});
