import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { tempDir, type TempDir } from '@switchyard/testkit';
import { SKIP } from '../cluster/processes.ts';
import { startChaosCluster, type ChaosCluster } from './cluster.ts';
import type { Planned } from './plan.ts';
import { freshDirectory, hurt, type Outcome } from './run-chaos.ts';
import { SABOTAGES, type Sabotage } from './witness/sabotage.ts';

const READY_MS = 60_000;
/** Lost work stays lost, so a short wait is enough. */
const PATIENCE_MS = 12_000;
const TALKERS = 8;
/** On a busy machine a fault may have no effect. The run is then repeated with another seed. */
const PLAYS = 3;

const STOPPED_MS = 8_500;
const BETWEEN_MS = 1_500;

/** Faults that expose the missing guard, and an invariant that breaks. */
const STORIES: Readonly<Record<Sabotage, { plan: readonly Planned[]; breaks: string }>> = {
  // A runner is stopped for longer than its lease and resumes while another replica continues its turns.
  fencing: {
    plan: [stop('sessions-1', BETWEEN_MS), stop('sessions-2', STOPPED_MS + BETWEEN_MS), stop('sessions-1', STOPPED_MS + BETWEEN_MS)],
    breaks: 'I3',
  },
  // A response is dropped, and the client retries with its key.
  dedupe: { plan: [{ afterMs: BETWEEN_MS, fault: { kind: 'lose', where: 'edge', ms: 500 } }], breaks: 'I3' },
  // A runner dies, and no replica polls for its turns.
  sweeper: { plan: [kill('sessions-1'), kill('sessions-2')], breaks: 'I1' },
  // A turn is acknowledged before it is written.
  order: { plan: [kill('sessions-1'), kill('sessions-2')], breaks: 'I1' },
  // A runner dies during a tool call.
  tools: { plan: ['sessions-1', 'sessions-2', 'sessions-1', 'sessions-2'].map((name) => kill(name)), breaks: 'I6' },
  // Listeners lose their connections and reconnect.
  places: { plan: [kill('gateway-1'), kill('gateway-2')], breaks: 'I9' },
};

function stop(who: string, afterMs: number): Planned {
  return { afterMs, fault: { kind: 'stop', who, ms: STOPPED_MS } };
}

function kill(who: string): Planned {
  return { afterMs: BETWEEN_MS, fault: { kind: 'kill', who } };
}

describe('the checker detects a missing guard', { skip: SKIP, timeout: 900_000 }, () => {
  const stack = new AsyncDisposableStack();
  let dir: TempDir;
  let cluster: ChaosCluster;
  before(async () => {
    dir = stack.use(await tempDir());
    cluster = await startChaosCluster(dir.path, stack);
  });
  after(() => stack.disposeAsync());

  for (const [at, sabotage] of SABOTAGES.entries()) {
    test(`without ${sabotage}`, async (t) => {
      const { plan, breaks } = STORIES[sabotage];
      await restart(sabotage);
      const broken: string[] = [];
      for (let again = 0; again < PLAYS && !broken.includes(breaks); again += 1) {
        const { violations } = await play(101 + at + again * SABOTAGES.length, plan);
        t.diagnostic(summary(violations));
        broken.push(...violations.map(({ invariant }) => invariant));
      }
      assert.ok(broken.includes(breaks), `${breaks} holds in ${PLAYS} stories`);
    });
  }

  test('reports nothing with all guards', async () => {
    await restart(undefined);
    // random-faults.full.test.ts covers pauses.
    const { violations } = await play(100, STORIES.tools.plan);
    assert.deepEqual(violations, []);
  });

  function play(seed: number, plan: readonly Planned[]): Promise<Outcome> {
    const own = freshDirectory(join(dir.path, `${seed}`));
    return hurt(cluster, own, { seed, plan, talkers: TALKERS, say: () => undefined, patienceMs: PATIENCE_MS });
  }

  /** Restarts sessions and gateways without a guard. */
  async function restart(sabotage: Sabotage | undefined): Promise<void> {
    const file = join(cluster.witness, 'sabotage');
    rmSync(file, { force: true });
    if (sabotage !== undefined) writeFileSync(file, sabotage);
    const old = cluster.processes().filter(({ service }) => service === 'sessions' || service === 'gateway');
    for (const { pid } of old) process.kill(pid, 'SIGKILL');
    while (cluster.processes().some(({ pid }) => old.some((one) => one.pid === pid)))
      await new Promise((resolve) => void setTimeout(resolve, 50));
    await cluster.ready(AbortSignal.timeout(READY_MS));
  }
});

function summary(violations: Outcome['violations']): string {
  const groups = Map.groupBy(violations, ({ invariant }) => invariant);
  return [...groups].map(([invariant, all]) => `${all.length} of ${invariant}, such as: ${all[0]?.what}`).join('; ') || 'nothing was found';
}
