// alone: measures how soon the last of 10,000 documents starts
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Collection, Document } from '@switchyard/store';
import { startMongo, startProcess, tempDir } from '@switchyard/testkit';
import { newWork } from './index.ts';
import { createTaskWork, isStrict, openTasks, readEntries, recordEvents, ROOMS, TENANT, type Entry } from './load.fixture.ts';

const PROGRAM = fileURLToPath(new URL('load-replica.fixture.ts', import.meta.url));
const REPLICAS = 3;
const CAPACITY = 16;
const DOCUMENTS = 10_000;
/** The stand-in for MongoDB reads all documents of a collection for each query. */
const STAND_IN_DOCUMENTS = 1_000;
const PARALLEL_INSERTS = 32;
/** The stand-in of MongoDB has few documents, which idle cores end within seconds. */
const FIRST_KILL_MS = 2_000;
const KILL_INTERVAL_MS = 10_000;
const POLL_MS = 500;
const MAX_START_MS = 60_000;
const MAX_STAND_IN_START_MS = 240_000;
const MAX_END_MS = 240_000;
const MEASURED_MS = 20_000;
const MAX_CORE_SHARE = 0.01;

const getTaskId = (n: number): string => `t${String(n).padStart(6, '0')}`;

interface Replica {
  kill(): Promise<void>;
}

interface Load {
  documents: number;
  /** Time after they are due within which the last document starts. */
  maxStartMs: number;
  /** Time within which all documents are added, after which they are due. */
  addMs: number;
  file: string;
  start(owner: string): Promise<Replica>;
}

/** Lets documents that are due at once be run by three replicas, kills one after two seconds and then every ten, and checks every document. */
async function playLoad(
  t: TestContext,
  opened: Awaited<ReturnType<typeof openTasks>>,
  { documents, maxStartMs, addMs, file, start }: Load,
) {
  const { store, tasks } = opened;
  writeFileSync(file, '');
  const adding = createTaskWork({ ...opened, owner: 'adder', capacity: 0, file });
  t.after(() => adding[Symbol.asyncDispose]());
  const dueAt = store.now() + addMs;
  // In the order of acceptance within each room.
  const fillRoom = async (room: number): Promise<void> => {
    for (let n = room; n < documents; n += ROOMS) await adding.add(TENANT, { ...newWork(), taskId: getTaskId(n), n, room }, { dueAt });
  };
  await Promise.all(Array.from({ length: ROOMS }, (_, room) => fillRoom(room)));
  assert.ok(store.now() < dueAt, `adding the documents took ${store.now() - dueAt} ms too long`);

  let started = 0;
  const startNext = (): Promise<Replica> => start(`r${(started += 1)}`);
  const replicas = await Promise.all(Array.from({ length: REPLICAS }, startNext));
  t.after(() => Promise.all(replicas.map((replica) => replica.kill())));
  await sleep(dueAt - store.now());
  const own = tasks.for(TENANT);
  const countUnfinished = () => own.count({ state: { in: ['queued', 'running'] } });
  const countEvents = () => new Set(readEntries(file).flatMap(({ event }) => event ?? [])).size;
  let kills = 0;
  let endedAfterMs = 0;
  for (let unfinished = documents; unfinished > 0 || countEvents() < documents; unfinished = await countUnfinished()) {
    if (unfinished > 0) endedAfterMs = store.now() - dueAt;
    assert.ok(store.now() < dueAt + MAX_END_MS, `${unfinished} documents have not ended, ${countEvents()} have announced their end`);
    if (store.now() >= dueAt + FIRST_KILL_MS + kills * KILL_INTERVAL_MS) {
      kills += 1;
      // The supervisor of a killed replica starts another one.
      const [oldest = assert.fail()] = replicas.splice(0, 1);
      const [next] = await Promise.all([startNext(), oldest.kill()]);
      replicas.push(next);
    }
    await sleep(POLL_MS);
  }
  const entries = readEntries(file);
  const starts = getFirstStarts(entries);
  const lastStartMs = Math.max(...starts.values()) - dueAt;
  t.diagnostic(`${documents} documents: last start after ${lastStartMs.toFixed()} ms, last end after ${endedAfterMs} ms, ${kills} kills`);
  assert.equal(await own.count({ state: 'done' }), documents);
  assert.equal(starts.size, documents);
  assertEndedOnce(entries, documents);
  assertStrictOrder(starts, documents);
  assert.ok(lastStartMs <= maxStartMs, `the last document started after ${lastStartMs.toFixed()} ms`);
  return { kills };
}

function getFirstStarts(entries: readonly Entry[]): Map<string, number> {
  const starts = new Map<string, number>();
  for (const { what, taskId, at } of entries) if (what === 'start' && !starts.has(taskId)) starts.set(taskId, at);
  return starts;
}

/** Each document has one event, and no holder acts after a later one. */
function assertEndedOnce(entries: readonly Entry[], documents: number): void {
  const events = new Map<string, string>();
  const fences = new Map<string, number>();
  for (const { what, taskId, fence, event = '' } of entries) {
    if (what === 'event') {
      assert.ok((events.get(taskId) ?? event) === event, `${taskId} ended twice`);
      events.set(taskId, event);
    } else {
      assert.ok(fence >= (fences.get(taskId) ?? 0), `${taskId} ran under fence ${fence} after fence ${fences.get(taskId)}`);
      fences.set(taskId, fence);
    }
  }
  assert.equal(events.size, documents);
}

function assertStrictOrder(starts: ReadonlyMap<string, number>, documents: number): void {
  for (let n = ROOMS; n < documents; n += 1) {
    if (!isStrict({ room: n % ROOMS })) continue;
    const [before = Infinity, at = 0] = [starts.get(getTaskId(n - ROOMS)), starts.get(getTaskId(n))];
    assert.ok(before < at, `${getTaskId(n)} started before ${getTaskId(n - ROOMS)}`);
  }
}

/** A collection whose calls are never answered after the kill, as those of a process that ended. */
function untilKilled<D extends Document>(documents: Collection<D>, isKilled: () => boolean): Collection<D> {
  const wrap = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(from, name) {
        const operation = Reflect.get(from, name) as (...parameters: unknown[]) => Promise<unknown>;
        return async (...parameters: unknown[]) => {
          if (isKilled()) return new Promise(() => undefined);
          const result = await operation.apply(from, parameters);
          return isKilled() ? new Promise(() => undefined) : result;
        };
      },
    });
  return { key: documents.key, for: (owner) => wrap(documents.for(owner)), system: () => wrap(documents.system()) };
}

test(
  `${DOCUMENTS} documents that are due at once in ${ROOMS} rooms end once although replicas are killed, SQLite`,
  {
    timeout: 600_000,
  },
  async (t) => {
    await using directory = await tempDir();
    const file = join(directory.path, 'entries');
    const opened = await openTasks(`sqlite:${directory.path}`);
    t.after(() => opened.store.close());
    await recordEvents(opened.store, file);
    await playLoad(t, opened, {
      documents: DOCUMENTS,
      maxStartMs: MAX_START_MS,
      addMs: 60_000,
      file,
      async start(owner) {
        let killed = false;
        const isKilled = (): boolean => killed;
        const [tasks, rooms] = [untilKilled(opened.tasks, isKilled), untilKilled(opened.rooms, isKilled)];
        void createTaskWork({ store: opened.store, tasks, rooms, owner, capacity: CAPACITY, file }).poll();
        return { kill: async () => void (killed = true) };
      },
    });
  },
);

test(
  `documents that are due at once in ${ROOMS} rooms end once although processes are killed, MongoDB`,
  { timeout: 600_000 },
  async (t) => {
    await using directory = await tempDir();
    const file = join(directory.path, 'entries');
    const server = await startMongo();
    t.after(() => server.stop());
    const opened = await openTasks(server.url);
    t.after(() => opened.store.close());
    const { kills } = await playLoad(t, opened, {
      documents: server.real ? DOCUMENTS : STAND_IN_DOCUMENTS,
      // The stand-in serves one operation after the other.
      maxStartMs: server.real ? MAX_START_MS : MAX_STAND_IN_START_MS,
      addMs: 60_000,
      file,
      async start(owner) {
        const replica = await startProcess([process.execPath, PROGRAM, server.url, owner, file], { ready: /^ready/m });
        return { kill: async () => void (await replica.end('SIGKILL')) };
      },
    });
    assert.ok(kills > 0, 'no process was killed');
  },
);

test(`${DOCUMENTS} parked documents cost less than one percent of a core`, { timeout: 300_000 }, async (t) => {
  await using directory = await tempDir();
  const opened = await openTasks(`sqlite:${directory.path}`);
  t.after(() => opened.store.close());
  const work = createTaskWork({ ...opened, owner: 'idle', capacity: CAPACITY, file: join(directory.path, 'entries') });
  t.after(() => work[Symbol.asyncDispose]());
  const measureShare = async (): Promise<number> => {
    await work.poll();
    const before = process.cpuUsage();
    await sleep(MEASURED_MS);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000 / MEASURED_MS;
  };
  const idle = await measureShare();
  const dueAt = opened.store.now() + 3_600_000;
  const park = async (first: number): Promise<void> => {
    for (let n = first; n < DOCUMENTS; n += PARALLEL_INSERTS)
      await opened.tasks.for(TENANT).insert({ ...newWork(), state: 'parked', taskId: getTaskId(n), n, room: n % ROOMS, dueAt });
  };
  await Promise.all(Array.from({ length: PARALLEL_INSERTS }, (_, first) => park(first)));
  const parked = await measureShare();
  t.diagnostic(`${(idle * 100).toFixed(2)} % of a core without documents, ${(parked * 100).toFixed(2)} % with them`);
  assert.ok(parked - idle < MAX_CORE_SHARE);
});
