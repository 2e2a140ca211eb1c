import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withoutGuard } from '@switchyard/testkit';
import { SCRIPTED_GUARDS, type ScenarioName } from './guards.fixture.ts';
import type { Outcome } from './index.ts';
import { openStage, settle, TENANT, type Stage, type StageReplica, type Task } from './late-writes.fixture.ts';
import { LEASE_TIMING } from './lease.ts';

/*
 * Late writes: another replica changes a document between the read that decides about a write and the write itself. Each scenario passes
 * with the guard of the write and fails without it.
 */

const { leaseMs } = LEASE_TIMING;
const LATER_MS = 10_000;
/** The ring of a document in a line is repeated after this time. */
const RECOVERY_MS = 60_000;

interface Scenario {
  /** Tasks of the room that run at once. */
  max: number;
  play(stage: Stage, one: StageReplica, two: StageReplica): Promise<void>;
}

const getRun = ({ running }: StageReplica, taskId: string) => running.get(taskId) ?? assert.fail(`${taskId} does not run`);

/** The holder starts a write, and another replica takes the document over before the write happens. */
function takeOver(write: (one: StageReplica, stage: Stage) => unknown): Scenario {
  return {
    max: 2,
    async play(stage, one, two) {
      await stage.add(one, '1');
      await one.work.poll();
      const held = one.hold('work', 'update');
      void write(one, stage);
      await held.reached;
      stage.clock.now += leaseMs;
      await two.work.poll();
      await held.release();
      const { owner, fence, state, leaseUntil, dueAt, note } = stage.getTask('1');
      const until = stage.clock.now + leaseMs;
      assert.deepEqual([owner, fence, state, leaseUntil, dueAt, note], ['two', 2, 'running', until, until, undefined]);
    },
  };
}

const endLate = (describeOutcome: (now: number) => Outcome<Task>): Scenario =>
  takeOver((one, { clock }) => getRun(one, '1').end(describeOutcome(clock.now)));

const SCENARIOS: Readonly<Record<ScenarioName, Scenario>> = {
  'a late write of a former holder': takeOver((one) =>
    getRun(one, '1')
      .lease.write({ set: { note: 'late' } })
      .catch(() => undefined),
  ),
  'a late renewal': takeOver((one) => one.renew()),
  'a late parking': endLate((now) => ({ parkUntil: now + LATER_MS })),
  'a late retry in line': endLate((now) => ({ retryAt: now + LATER_MS })),
  'a late retry with the slot': endLate((now) => ({ retryAt: now + LATER_MS, keepSlot: true })),

  'a late claim of a document that was returned to the line': {
    max: 2,
    async play(stage, one, two) {
      await stage.add(one, '1');
      const held = one.hold('work', 'update');
      void one.work.poll();
      await held.reached;
      stage.clock.now += leaseMs;
      await two.work.poll();
      await getRun(two, '1').end({ retryAt: stage.clock.now + LATER_MS });
      await held.release();
      assert.equal(stage.getTask('1').state, 'queued');
    },
  },

  'two claims of one slot': {
    max: 1,
    async play(stage, one, two) {
      await stage.add(one, '2');
      const held = one.hold('work', 'update');
      void one.work.poll();
      await held.reached;
      await stage.add(two, '1', -1_000);
      stage.clock.now += leaseMs;
      await two.work.poll();
      await held.release();
      assert.deepEqual([stage.getTask('1').state, stage.getTask('2').state], ['running', 'queued']);
    },
  },

  'a ring for a later time': {
    max: 1,
    async play(stage, one) {
      await stage.add(one, '1');
      const readyAt = stage.getRoom()?.readyAt;
      await stage.add(one, '2', LATER_MS);
      assert.equal(stage.getRoom()?.readyAt, readyAt);
    },
  },

  'a ring during a visit that postpones the next one': {
    max: 1,
    async play(stage, one, two) {
      await stage.add(one, '1', LATER_MS);
      await stage.add(one, '2', LATER_MS);
      await one.work.cancel(TENANT, '2');
      const held = one.hold('rooms', 'update');
      void one.work.poll();
      await held.reached;
      await stage.add(two, '3');
      await held.release();
      getRun(one, '3');
    },
  },

  'a ring during a visit that removes the room': {
    max: 1,
    async play(stage, one, two) {
      await stage.add(one, '1');
      await one.work.poll();
      const held = one.hold('rooms', 'remove');
      await getRun(one, '1').end({ end: 'done' });
      await held.reached;
      await stage.add(two, '2');
      await held.release();
      getRun(one, '2');
    },
  },

  'a wake of a document that may not start yet': {
    max: 1,
    async play(stage, one) {
      await stage.add(one, '1', LATER_MS);
      await one.work.wake(TENANT, '1');
      assert.equal(stage.getTask('1').waitAt, stage.clock.now);
    },
  },

  'a wake of a document that waits in its line': {
    max: 1,
    async play(stage, one) {
      for (const taskId of ['1', '2']) {
        await stage.add(one, taskId);
        stage.clock.now += 1_000;
      }
      await one.work.wake(TENANT, '1');
      await one.work.poll();
      assert.deepEqual([...one.running.keys()], ['1']);
    },
  },

  'a recovery of a document that returned to its line meanwhile': recoverLate((now) => ({ retryAt: now + LATER_MS })),
  // The time of the retry is the time that the recovery has read.
  'a recovery of a document that kept its slot meanwhile': recoverLate((now) => ({ retryAt: now, keepSlot: true })),
};

/** A replica repeats a lost ring. Before it clears the time of the recovery, another replica runs the document and lets it wait again. */
function recoverLate(describeOutcome: (now: number) => Outcome<Task>): Scenario {
  return {
    max: 2,
    async play(stage, one, two) {
      await stage.add(one, '1');
      stage.removeRoom();
      stage.clock.now += RECOVERY_MS;
      const held = one.hold('work', 'update');
      void one.work.poll();
      await held.reached;
      // Neither replica runs the document again.
      one.capacity = 0;
      await two.work.poll();
      two.capacity = 0;
      await getRun(two, '1').end(describeOutcome(stage.clock.now));
      await held.release();
      assert.equal(stage.getTask('1').state, 'queued');
      assert.ok(stage.getTask('1').dueAt !== undefined, 'no replica would find the document after a lost ring');
    },
  };
}

async function play({ max, play: run }: Scenario, sabotage?: ReturnType<typeof withoutGuard>): Promise<void> {
  const stage = openStage({ max, ...(sabotage && { sabotage }) });
  await run(stage, stage.replica('one'), stage.replica('two'));
  await settle();
}

for (const { scenario, ...guard } of SCRIPTED_GUARDS) {
  test(`${scenario} has no effect, because of the guard ${guard.field} of ${guard.write}`, async () => {
    await play(SCENARIOS[scenario]);
    await assert.rejects(play(SCENARIOS[scenario], withoutGuard(guard)), assert.AssertionError, 'without the guard it has one');
  });
}
