import { pause } from '@switchyard/service-kit';
import {
  createWork,
  type AnyWork,
  type Lease,
  type Outcome,
  type Room,
  type RoomDocument,
  type Work,
  type WorkOptions,
} from '@switchyard/work';
import { createSimulation, NO_FAULTS, type Process, type Simulation } from './simulation.ts';
import { simulatedData, type Watching } from './simulated-store.ts';
import { createWorkJudge, type WorkJudge } from './work-judge.ts';

/** The work that a simulation plays, and its clients. */
export interface WorkStory<D extends AnyWork> {
  key: keyof D & string;
  room?: (document: D) => Room;
  capacity: number;
  poison: WorkOptions<D>['poison'];
  /** Runs a document. `act` stands for each external effect. */
  run(lease: Lease<D>, replica: WorkReplica<D>, act: () => void): Promise<Outcome<D>>;
  /** Starts the clients. The story ends when they are done and every document has ended. */
  clients(player: WorkPlayer<D>): Promise<unknown>[];
}

export interface WorkReplica<D> {
  process: Process;
  work: Work<D>;
  /** The database's clock. */
  now: () => number;
}

/** What the clients of a story can do. */
export interface WorkPlayer<D> {
  simulation: Simulation;
  /** The clock of the clients. */
  outside: Process;
  pause(ms: number): Promise<void>;
  /** Adds the document at a random replica; repeats after failures, as a caller does. */
  add(document: D, options?: { dueAt?: number }): Promise<void>;
  /** Answers a parked document. If several clients answer, one wins. */
  answer(key: string): Promise<void>;
  /** Wakes a document that may be running. */
  wake(key: string): Promise<void>;
  cancel(key: string): Promise<void>;
}

export interface PlayWorkOptions {
  sabotage?: Watching['sabotage'];
}

const TENANT = 'default';
const STORY_MS = 20_000;
const STEPS = 40_000;
const REPLY_TIMEOUT_MS = 8_000;

/** Plays the story of a seed with faults, kills and pauses, heals everything and lets the work end. Throws on a violated guarantee. */
export async function playWork<D extends AnyWork>(
  seed: number,
  story: WorkStory<D>,
  { sabotage }: PlayWorkOptions = {},
): Promise<WorkJudge['seen']> {
  const simulation = createSimulation(seed, NO_FAULTS);
  const { dice } = simulation;
  const getRoom = story.room;
  const judge = createWorkJudge({
    collection: 'work',
    key: story.key,
    now: () => simulation.now(),
    getRoom(document) {
      const room = getRoom?.(document as unknown as D);
      return room && { name: room.key, max: room.max };
    },
  });
  const watching = { ...judge.watching, ...(sabotage ? { sabotage } : {}) };
  const documents = simulatedData<D>('work', { key: story.key, unique: [['slotRoom', 'slot']] }, watching);
  const rooms = simulatedData<RoomDocument>('rooms', { key: 'room' }, watching);
  const replicas: WorkReplica<D>[] = [];
  let started = 0;

  function startReplica(): void {
    const process = simulation.start(`r${(started += 1)}`);
    const replica: WorkReplica<D> = {
      process,
      now: () => simulation.now(),
      work: createWork<D>({
        documents: documents.from(process),
        ...(getRoom ? { rooms: { documents: rooms.from(process), resolve: getRoom } } : {}),
        owner: process.name,
        now: () => simulation.now(),
        clock: process.clock,
        capacity: () => story.capacity,
        poison: { ...story.poison, outcome: (document) => announce(document, story, story.poison.outcome(document)) },
        async run(lease) {
          const id = String(lease.document[story.key]);
          const act = (): void => {
            if (lease.isHeld()) judge.acts(id, lease.fence, process);
          };
          return announce(lease.document, story, await story.run(markWrites(lease), replica, act), lease.fence);
        },
      }),
    };
    replicas.push(replica);
    void replica.work.poll().catch(() => undefined);
  }

  const pickReplica = (): WorkReplica<D> | undefined => {
    const alive = replicas.filter(({ process }) => process.alive);
    return alive.length === 0 ? undefined : dice.of(alive);
  };
  const outside = simulation.start('outside');
  const wait = (ms: number): Promise<void> => pause(outside.clock, ms);
  /** Undefined on failure or timeout. */
  const request = <T>(call: (work: Work<D>) => Promise<T>): Promise<T | undefined> => {
    const replica = pickReplica();
    if (!replica) return Promise.resolve(undefined);
    return Promise.race([call(replica.work).catch(() => undefined), wait(REPLY_TIMEOUT_MS).then(() => undefined)]);
  };

  const player: WorkPlayer<D> = {
    simulation,
    outside,
    pause: wait,
    async add(document, options) {
      const id = String(document[story.key]);
      judge.adding(id, options?.dueAt ?? 0);
      for (let attempt = 0; attempt < 6; attempt += 1) {
        if (await request((work) => work.add({ tenant: TENANT }, document, options))) {
          judge.accepted(id);
          if (dice.chance(0.5)) void request((work) => work.poll());
          return;
        }
        await wait(500);
      }
    },
    async answer(id) {
      const answered = await request((work) => work.wake(TENANT, id, {}, { state: 'parked' } as never));
      if (answered) judge.woke(id);
    },
    async wake(id) {
      await request((work) => work.wake(TENANT, id));
    },
    async cancel(id) {
      await request((work) => work.cancel(TENANT, id));
    },
  };

  /** Kills, pauses or drains a replica; another one replaces it. */
  async function disturb(): Promise<void> {
    await wait(dice.below(STORY_MS));
    const replica = pickReplica();
    if (!replica) return;
    const kind = dice.below(7);
    if (kind < 3) {
      replica.process.kill();
      await wait(dice.below(3_000));
      startReplica();
    } else if (kind < 6) {
      replica.process.pause(dice.of([500, 6_000]) + dice.below(9_000));
    } else {
      startReplica();
      replicas.splice(replicas.indexOf(replica), 1);
      void replica.work[Symbol.asyncDispose]();
    }
  }

  if (dice.chance(0.7)) {
    const [slow, passes] = [dice.of([0, 0.02, 0.05]), dice.of([0.02, 0.1, 0.3])];
    simulation.faults = { ...NO_FAULTS, failsBefore: 0.02, failsAfter: 0.02, slow, passes };
  } else simulation.faults = { ...NO_FAULTS, passes: 0.1 };
  for (let n = 0; n < 3; n += 1) startReplica();
  let isOver = false;
  const clients = [...story.clients(player), ...Array.from({ length: dice.below(6) }, disturb)];
  void Promise.all(clients).then(() => (isOver = true));
  if (!(await simulation.run(() => (judge.check(), isOver), STEPS))) throw new Error('the clients got no reply');
  simulation.faults = { ...NO_FAULTS, passes: 0.05 };
  if (!replicas.some(({ process }) => process.alive)) startReplica();
  const hasEnded = (): boolean =>
    [...documents.documents.values()].every(({ state }) => state !== 'queued' && state !== 'running' && state !== 'parked');
  if (!(await simulation.run(() => (judge.check(), hasEnded()), STEPS)))
    throw new Error(`unfinished work: ${JSON.stringify([...documents.documents.values(), ...rooms.documents.values()])}`);
  judge.check();
  judge.checkEnd();
  return judge.seen;
}

/** Adds the fence of the holder to its writes. */
function markWrites<D extends AnyWork>(lease: Lease<D>): Lease<D> {
  return {
    get document() {
      return lease.document;
    },
    tenant: lease.tenant,
    fence: lease.fence,
    signal: lease.signal,
    isHeld: () => lease.isHeld(),
    persist: (write) => lease.persist(write),
    write: (change) => lease.write({ ...change, set: { ...change.set, writtenUnder: lease.fence } as never }),
  };
}

/** Adds the fence and, at the end, an event that the judge counts. */
function announce<D extends AnyWork>(document: D, { key }: WorkStory<D>, outcome: Outcome<D>, fence = document.fence): Outcome<D> {
  const emit = 'end' in outcome ? [{ name: 'work:ended', payload: document[key] }] : [];
  return { ...outcome, set: { ...outcome.set, writtenUnder: fence } as never, emit: [...(outcome.emit ?? []), ...emit] };
}
