import { randomUUID } from 'node:crypto';
import type { TestContext } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import type { Clock } from '@switchyard/service-kit';
import { collection, type Collection, type Document, type Store } from '@switchyard/store';
import { z } from 'zod';
import { createWork, newWork, roomCollection, roomIndexes, roomSlots, workFields, workIndex, type WorkOptions } from './index.ts';

const Job = z.object({
  jobId: z.string(),
  room: z.string().optional(),
  firesAt: z.string().optional(),
  result: z.string().optional(),
  ...workFields,
});
export type Job = z.infer<typeof Job>;
const collections = {
  jobs: collection({ name: 'jobs', schema: Job, key: 'jobId', indexes: [workIndex, ...roomIndexes], unique: [roomSlots, ['firesAt']] }),
  rooms: roomCollection('jobRooms'),
};
/** Opens a new database of this name in strict mode. */
export type OpenStore = (database: string) => Promise<Store>;

export const a = { tenant: 'a' };
export const newJob = (jobId: string, room?: string): Job => ({ jobId, room, ...newWork() });

export interface ReplicaOptions extends Partial<Pick<WorkOptions<Job>, 'capacity' | 'drainMs'>> {
  /** Sets the poll timer. By default the replica polls only when the test calls `poll`, and when work ends. */
  after?: Clock['after'];
  /** Documents that run at once in each room. By default documents have no room. */
  max?: number;
}

type Failure = 'before' | 'after';

/** Counts the operations on a collection. The next updates fail as `failures` says: without an effect, or only their reply is lost. */
function observe<D extends Document>(documents: Collection<D>, count: () => void, failures: Failure[]): Collection<D> {
  const observed = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(from, name) {
        count();
        const operation = Reflect.get(from, name) as (...parameters: unknown[]) => Promise<unknown>;
        if (name !== 'update') return operation;
        return async (...parameters: unknown[]) => {
          const failure = failures.shift();
          if (failure === 'before') throw unavailable();
          const result = await operation.apply(from, parameters);
          if (failure === 'after') throw unavailable();
          return result;
        };
      },
    });
  return { key: documents.key, for: (principal) => observed(documents.for(principal)), system: () => observed(documents.system()) };
}

export function unavailable(): ServiceError {
  return new ServiceError('UNAVAILABLE', 'the database is away');
}

export async function openWork(t: TestContext, open: OpenStore) {
  const store = await open(`w${randomUUID().slice(0, 8)}`);
  let reads = 0;
  const failures: Failure[] = [];
  const { jobs, rooms } = await store.open(collections);
  const clock = { now: 1_000_000 };
  const replicas: AsyncDisposable[] = [];
  t.after(async () => {
    await Promise.all(replicas.map((replica) => replica[Symbol.asyncDispose]()));
    await store.close();
  });
  const replica = (owner: string, run: WorkOptions<Job>['run'], options: ReplicaOptions = {}) => {
    const { after = () => () => undefined, capacity = () => 1, max, drainMs = 0 } = options;
    const work = createWork<Job>({
      documents: observe(jobs, () => (reads += 1), failures),
      ...(max === undefined
        ? {}
        : { rooms: { documents: observe(rooms, () => (reads += 1), []), resolve: ({ room = '' }) => ({ key: room, max }) } }),
      owner,
      now: () => clock.now,
      clock: { now: () => clock.now, after, every: () => () => undefined, soon: setImmediate },
      capacity,
      drainMs,
      run,
      poison: { maxAttempts: 2, outcome: () => ({ end: 'failed', set: { result: 'poison' } }) },
    });
    replicas.push(work);
    return work;
  };
  return { store, jobs: jobs.for(a), rooms: rooms.for(a), reads: () => reads, failures, clock, replica };
}

export function isFenced(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'ABORTED' && error.details.reason === 'FENCED';
}
