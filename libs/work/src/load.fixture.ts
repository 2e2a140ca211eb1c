import { appendFileSync, readFileSync } from 'node:fs';
import { collection, openStore, type Collection, type Store } from '@switchyard/store';
import { z } from 'zod';
import {
  createWork,
  roomCollection,
  roomIndexes,
  roomSlots,
  workFields,
  workIndex,
  type Room,
  type RoomDocument,
  type Work,
} from './index.ts';

const Task = z.object({ taskId: z.string(), n: z.int(), room: z.int(), ...workFields });
export type Task = z.infer<typeof Task>;

export const TENANT = { tenant: 'load' };
export const ROOMS = 20;
/** The documents of the first rooms run one after another. */
const STRICT_ROOMS = 4;
const WIDE_ROOM_MAX = 10;

export function isStrict({ room }: Pick<Task, 'room'>): boolean {
  return room < STRICT_ROOMS;
}

export function resolveRoom(task: Task): Room {
  return { key: `room-${task.room}`, max: isStrict(task) ? 1 : WIDE_ROOM_MAX };
}

export async function openTasks(url: string) {
  const store: Store = await openStore(url, { service: 'load' });
  const { tasks, rooms } = await store.open({
    tasks: collection({ name: 'tasks', schema: Task, key: 'taskId', indexes: [workIndex, ...roomIndexes], unique: [roomSlots] }),
    rooms: roomCollection('taskRooms'),
  });
  return { store, tasks, rooms };
}

export interface TaskWorkOptions {
  store: Pick<Store, 'now'>;
  tasks: Collection<Task>;
  rooms: Collection<RoomDocument>;
  owner: string;
  capacity: number;
  file: string;
}

/** Runs tasks, and writes down each start and each external effect. */
export function createTaskWork({ store, tasks, rooms, owner, capacity, file }: TaskWorkOptions): Work<Task> {
  return createWork<Task>({
    documents: tasks,
    rooms: { documents: rooms, resolve: resolveRoom },
    owner,
    now: () => store.now(),
    capacity: () => capacity,
    async run(lease) {
      const { document, fence } = lease;
      const { taskId } = document;
      writeEntry(file, { what: 'start', taskId, fence });
      if (lease.isHeld()) writeEntry(file, { what: 'act', taskId, fence });
      return { end: 'done', emit: [{ name: 'task:done', payload: { taskId, fence } }] };
    },
    poison: { maxAttempts: 20, outcome: () => ({ end: 'failed' }) },
  });
}

/** Writes down each event of an ended task. */
export async function recordEvents(store: Store, file: string): Promise<void> {
  await store.publishTo(async ({ id, payload }) => {
    const { taskId, fence } = payload as Pick<Task, 'taskId' | 'fence'>;
    writeEntry(file, { what: 'event', taskId, fence, event: id });
  });
}

/** An action of a replica, or an event that it published. */
export interface Entry {
  what: 'start' | 'act' | 'event';
  taskId: string;
  fence: number;
  /** Milliseconds, with fractions that order the entries of all processes. */
  at: number;
  /** Id of an event. An event may be published again after a crash. */
  event?: string;
}

/** Appends an entry. It survives the end of the process. */
export function writeEntry(file: string, entry: Omit<Entry, 'at'>): void {
  appendFileSync(file, `${JSON.stringify({ ...entry, at: performance.timeOrigin + performance.now() })}\n`);
}

/** Returns the entries of all replicas in the order of their time. */
export function readEntries(file: string): Entry[] {
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Entry).toSorted((one, other) => one.at - other.at);
}
