import { randomUUID } from 'node:crypto';
import type { TestContext } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service-kit';
import { collection, type Collection, type Document, type Store } from '@switchyard/store';
import { z } from 'zod';
import { createWork, newWork, roomCollection, roomIndexes, roomSlots, workFields, workIndex, type WorkOptions } from './index.ts';

const Job = z.object({ jobId: z.string(), room: z.string().optional(), result: z.string().optional(), ...workFields });
export type Job = z.infer<typeof Job>;
const collections = {
  jobs: collection({ name: 'jobs', schema: Job, key: 'jobId', indexes: [workIndex, ...roomIndexes], unique: [roomSlots] }),
  rooms: roomCollection('jobRooms'),
};
/** Opens a new database of this name in strict mode. */
export type OpenStore = (database: string) => Promise<Store>;

export const a = { tenant: 'a' };
export const newJob = (jobId: string, room?: string): Job => ({ jobId, room, ...newWork() });

export interface ReplicaOptions extends Partial<Pick<WorkOptions<Job>, 'capacity'>> {
  /** Sets the poll timer. By default the replica polls only when the test calls `poll`, and when work ends. */
  after?: Clock['after'];
  /** Documents that run at once in each room. By default documents have no room. */
  max?: number;
}

/** Counts the operations on a collection. */
function countCalls<D extends Document>(documents: Collection<D>, count: () => void): Collection<D> {
  const counted = <T extends object>(target: T): T =>
    new Proxy(target, { get: (from, name) => (count(), Reflect.get(from, name) as unknown) });
  return { key: documents.key, for: (principal) => counted(documents.for(principal)), system: () => counted(documents.system()) };
}

export async function openWork(t: TestContext, open: OpenStore) {
  const store = await open(`w${randomUUID().slice(0, 8)}`);
  let reads = 0;
  const { jobs, rooms } = await store.open(collections);
  const clock = { now: 1_000_000 };
  const replicas: AsyncDisposable[] = [];
  t.after(async () => {
    await Promise.all(replicas.map((replica) => replica[Symbol.asyncDispose]()));
    await store.close();
  });
  const replica = (owner: string, run: WorkOptions<Job>['run'], options: ReplicaOptions = {}) => {
    const { after = () => () => undefined, capacity = () => 1, max } = options;
    const work = createWork<Job>({
      documents: countCalls(jobs, () => (reads += 1)),
      ...(max === undefined
        ? {}
        : { rooms: { documents: countCalls(rooms, () => (reads += 1)), resolve: ({ room = '' }) => ({ key: room, max }) } }),
      owner,
      now: () => clock.now,
      clock: { now: () => clock.now, after, every: () => () => undefined, soon: setImmediate },
      capacity,
      run,
      poison: { maxAttempts: 2, outcome: () => ({ end: 'failed', set: { result: 'poison' } }) },
    });
    replicas.push(work);
    return work;
  };
  return { store, jobs: jobs.for(a), rooms: rooms.for(a), reads: () => reads, clock, replica };
}

export function isFenced(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'ABORTED' && error.details.reason === 'FENCED';
}
