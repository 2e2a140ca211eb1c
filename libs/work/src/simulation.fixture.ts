import { pause } from '@switchyard/service-kit';
import { playWork, type WorkPlayer, type WorkStory } from '@switchyard/testkit';
import { newWork, type AnyWork } from './index.ts';

type Action = 'act' | 'retry' | 'crash' | 'park';

interface Task extends AnyWork {
  taskId: string;
  room: string;
  plan: readonly Action[];
  /** Number of actions that are done. */
  progress: number;
  paceMs: number;
}

const ROOMS = ['strict', 'other', 'wide'];
const STORY_MS = 15_000;
const PARK_MS = 600_000;
const RETRY_MS = 400;

/** Tasks that act, fail, retry and park; clients that add, answer and cancel. */
export const story: WorkStory<Task> = {
  key: 'taskId',
  room: ({ room }) => ({ key: room, max: room === 'wide' ? 2 : 1 }),
  capacity: 2,
  poison: { maxAttempts: 8, outcome: () => ({ end: 'failed' }) },
  async run(lease, { process, now }, act) {
    for (;;) {
      const { plan, progress, paceMs } = lease.document;
      await pause(process.clock, paceMs);
      const action = plan[progress];
      const set = { progress: progress + 1 };
      if (action === undefined) return { end: 'done' };
      if (action === 'park') return { set, parkUntil: now() + PARK_MS };
      act();
      if (action === 'retry') return { set, retryAt: now() + RETRY_MS };
      await lease.persist(() => lease.write({ set }));
      if (action === 'crash') throw new Error('the task fails');
    }
  },
  clients(player) {
    const { dice } = player.simulation;
    return Array.from({ length: 4 + dice.below(7) }, (_, n) => runClient(player, `t${n}`));
  },
};

async function runClient(player: WorkPlayer<Task>, taskId: string): Promise<void> {
  const { simulation } = player;
  const { dice } = simulation;
  const plan = Array.from({ length: dice.below(4) }, () => dice.of<Action>(['act', 'act', 'act', 'retry', 'crash', 'park']));
  const task = { ...newWork(), taskId, room: dice.of(ROOMS), plan, progress: 0, paceMs: dice.of([0, 10, 700, 3_000]) };
  await player.pause(dice.below(STORY_MS));
  await player.add(task, dice.chance(0.2) ? { dueAt: simulation.now() + dice.below(5_000) } : {});
  const parkings = plan.filter((action) => action === 'park').length;
  for (let n = 0; n < 2 * parkings; n += 1) {
    await player.pause(dice.below(8_000));
    if (dice.chance(0.2)) await player.wake(taskId);
    await Promise.all([1, 2].map(() => player.answer(taskId)));
  }
  if (!dice.chance(0.2)) return;
  await player.pause(dice.below(10_000));
  await player.cancel(taskId);
}

/** Plays the seeds and counts what happened in them. */
export async function playSeeds(goesOn: (seed: number) => boolean, first = 1) {
  const total = { starts: 0, takeovers: 0, ends: 0, parked: 0, acts: 0 };
  let seed = first;
  for (; goesOn(seed); seed += 1) {
    try {
      const seen = await playWork(seed, story);
      for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += seen[name];
    } catch (error) {
      throw new Error(`with SEED=${seed}`, { cause: error });
    }
  }
  return { played: seed - first, total };
}
