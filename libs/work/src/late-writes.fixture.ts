import { simulatedData, type Process, type Watching } from '@switchyard/testkit';
import type { Collection, Document } from '@switchyard/store';
import { createWork, newWork, type AnyWork, type Lease, type Outcome, type RoomDocument, type Work } from './index.ts';

export interface Task extends AnyWork {
  taskId: string;
  note?: string;
}

type Operation = 'update' | 'remove';

/** A write that was called and has not happened yet. */
interface HeldWrite {
  /** Resolves when the write is called. */
  reached: Promise<void>;
  /** Lets the write happen, and everything that follows from it. */
  release(): Promise<void>;
}

export interface StageReplica {
  work: Work<Task>;
  /** The documents that run here, by key. */
  running: Map<string, { lease: Lease<Task>; end(outcome: Outcome<Task>): Promise<void> }>;
  /** Delays the next write of this kind. */
  hold(collection: 'work' | 'rooms', operation: Operation): HeldWrite;
  /** Lets time pass for the renewal of the leases. */
  renew(): void;
  capacity: number;
}

/** Replicas on one store, whose writes happen at once unless the test holds them. */
export interface Stage {
  clock: { now: number };
  replica(owner: string): StageReplica;
  /** Adds a task that is due after this time. Tasks with equal times start in the order of their insertion. */
  add(replica: StageReplica, taskId: string, afterMs?: number): Promise<void>;
  getTask(taskId: string): Task;
  getRoom(): RoomDocument | undefined;
  removeRoom(): void;
}

export const TENANT = 'default';
const ROOM = 'room';

/** Lets everything happen that waits for nothing but itself. */
export async function settle(): Promise<void> {
  for (let n = 0; n < 50; n += 1) await new Promise(setImmediate);
}

export interface StageOptions {
  /** Tasks of the room that run at once. */
  max: number;
  sabotage?: Watching['sabotage'];
}

export function openStage({ max, sabotage }: StageOptions): Stage {
  const watching = sabotage ? { sabotage } : {};
  const tasks = simulatedData<Task>('work', { key: 'taskId', unique: [['slotRoom', 'slot']] }, watching);
  const rooms = simulatedData<RoomDocument>('rooms', { key: 'room' }, watching);
  const clock = { now: 1_000_000 };
  const process = { operation: async (work: () => unknown) => work() } as unknown as Process;

  function replica(owner: string): StageReplica {
    const held: { collection: string; operation: Operation; reached: () => void; released: Promise<void> }[] = [];
    const renewals: (() => void)[] = [];
    const running: StageReplica['running'] = new Map();

    const holdable = <D extends Document>(collection: 'work' | 'rooms', documents: Collection<D>): Collection<D> => {
      const wrap = <T extends object>(target: T): T =>
        new Proxy(target, {
          get(from, name) {
            const operation = Reflect.get(from, name) as (...parameters: unknown[]) => Promise<unknown>;
            return async (...parameters: unknown[]) => {
              const at = held.findIndex((one) => one.collection === collection && one.operation === name);
              const [one] = at === -1 ? [] : held.splice(at, 1);
              one?.reached();
              await one?.released;
              return operation.apply(from, parameters);
            };
          },
        });
      return { key: documents.key, for: (principal) => wrap(documents.for(principal)), system: () => wrap(documents.system()) };
    };

    const created: StageReplica = {
      running,
      capacity: 5,
      hold(collection, operation) {
        const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
        held.push({ collection, operation, reached: reached.resolve, released: released.promise });
        return {
          reached: reached.promise,
          async release() {
            released.resolve();
            await settle();
          },
        };
      },
      renew() {
        for (const task of renewals) task();
      },
      work: createWork<Task>({
        documents: holdable('work', tasks.from(process)),
        rooms: { documents: holdable('rooms', rooms.from(process)), resolve: () => ({ key: ROOM, max }) },
        owner,
        now: () => clock.now,
        clock: {
          now: () => clock.now,
          after: () => () => undefined,
          every: (_ms, task) => (renewals.push(task), () => undefined),
          soon: setImmediate,
        },
        capacity: () => created.capacity,
        poison: { maxAttempts: 100, outcome: () => ({ end: 'failed' }) },
        run(lease) {
          const { promise, resolve } = Promise.withResolvers<Outcome<Task>>();
          const end = async (outcome: Outcome<Task>): Promise<void> => {
            running.delete(lease.document.taskId);
            resolve(outcome);
            await settle();
          };
          running.set(lease.document.taskId, { lease, end });
          return promise;
        },
      }),
    };
    return created;
  }

  return {
    clock,
    replica,
    async add({ work }, taskId, afterMs = 0) {
      await work.add({ tenant: TENANT }, { ...newWork(), taskId }, { dueAt: clock.now + afterMs });
    },
    getTask: (taskId) => tasks.documents.get(`${TENANT} ${taskId}`)!,
    getRoom: () => [...rooms.documents.values()][0],
    removeRoom: () => rooms.documents.clear(),
  };
}
