import { randomUUID } from 'node:crypto';
import type { Bus } from '@switchyard/bus';
import { pause } from '@switchyard/service-kit';
import { createSimulation, NO_FAULTS, simulatedData, type Process, type Simulation } from '@switchyard/testkit';
import { newWork, type RoomDocument, type Work } from '@switchyard/work';
import type { JobDocument, RunDocument } from '../documents/collections.ts';
import { createJobWork } from '../jobs/job-work.ts';
import { addRun } from '../runs/run-overlap.ts';
import { createRunWork } from '../runs/run-work.ts';
import { judgeJob, judgeTurns, type SimulatedTurn } from './simulation-judge.fixture.ts';

const TENANT = 'default';
const STORY_MS = 60_000;
const STEPS = 200_000;
const REPLICAS = 3;
/** The clocks of replicas differ from that of the database by up to this time. */
const MAX_SKEW_MS = 30_000;
const JOBS = 4;

interface Replica {
  process: Process;
  jobWork: Work<JobDocument>;
  runWork: Work<RunDocument>;
}

export interface CronStory {
  fires: number;
  skips: number;
  kills: number;
  pauses: number;
  /** Replicas whose clock differs from that of the database. */
  skewed: number;
}

/** Plays jobs on three replicas with skewed clocks, faults, kills and pauses, heals everything, and checks all runs. */
export async function playCron(seed: number): Promise<CronStory> {
  const simulation = createSimulation(seed, NO_FAULTS);
  const { dice } = simulation;
  const seen: CronStory = { fires: 0, skips: 0, kills: 0, pauses: 0, skewed: 0 };
  const completed: string[] = [];
  const watching = {
    emitted: ({ name, payload }: { name: string; payload: unknown }): void => {
      if (name === 'scheduler:job_completed') completed.push((payload as { jobId: string }).jobId);
    },
  };
  const jobs = simulatedData<JobDocument>('jobs', { key: 'jobId' }, watching);
  const runs = simulatedData<RunDocument>('runs', { key: 'runId', unique: [['slotRoom', 'slot']] }, watching);
  const rooms = simulatedData<RoomDocument>('run_rooms', { key: 'room' });
  const turns = new Map<string, SimulatedTurn>();
  const replicas: Replica[] = [];

  function startReplica(): void {
    const process = simulation.start(`r${replicas.length}`);
    const skewMs = dice.chance(0.5) ? 0 : dice.below(2 * MAX_SKEW_MS) - MAX_SKEW_MS;
    if (skewMs !== 0) seen.skewed += 1;
    const now = (): number => simulation.now() + skewMs;
    const common = {
      jobs: jobs.from(process),
      runs: runs.from(process),
      owner: process.name,
      now,
      clock: process.clock,
      log: { warn: () => undefined },
    };
    const runWork = createRunWork({
      ...common,
      rooms: rooms.from(process),
      agents: { find: () => undefined },
      bus: simulateSessions(simulation, process, turns),
      maxConcurrentRuns: () => 3,
      maxConsecutiveErrors: () => 0,
      wakeJob: (tenant, jobId) => void jobWork.wake(tenant, jobId).catch(() => undefined),
    });
    const jobWork = createJobWork({
      ...common,
      enabled: () => true,
      async addRun(tenant, added) {
        await addRun({ runs: common.runs, runWork }, tenant, added);
        runWork.poll().catch(() => undefined);
      },
    });
    replicas.push({ process, jobWork, runWork });
    void Promise.all([jobWork.poll(), runWork.poll()]).catch(() => undefined);
  }

  /** Kills or pauses a replica. A killed one is replaced. */
  async function disturb(): Promise<void> {
    await wait(dice.below(STORY_MS));
    const alive = replicas.filter(({ process }) => process.alive);
    if (alive.length === 0) return;
    const { process } = dice.of(alive);
    if (dice.chance(0.5)) {
      seen.pauses += 1;
      process.pause(dice.of([500, 6_000]) + dice.below(20_000));
      return;
    }
    seen.kills += 1;
    process.kill();
    await wait(dice.below(3_000));
    startReplica();
  }

  const outside = simulation.start('outside');
  const wait = (ms: number): Promise<void> => pause(outside.clock, ms);
  for (let n = 0; n < JOBS; n += 1) {
    const job = createJob(simulation, `job_${n}`);
    jobs.documents.set(`${TENANT} ${job.jobId}`, { ...job, tenant: TENANT });
  }
  for (let n = 0; n < REPLICAS; n += 1) startReplica();
  if (dice.chance(0.7)) simulation.faults = { ...NO_FAULTS, failsBefore: 0.02, failsAfter: 0.02, slow: dice.of([0, 0.03]), passes: 0.1 };
  else simulation.faults = { ...NO_FAULTS, passes: 0.1 };
  let isOver = false;
  void Promise.all([wait(STORY_MS), ...Array.from({ length: dice.below(6) }, disturb)]).then(() => (isOver = true));
  if (!(await simulation.run(() => isOver, STEPS))) throw new Error('the story did not end');
  simulation.faults = { ...NO_FAULTS, passes: 0.05 };
  for (const [name, job] of jobs.documents) jobs.documents.set(name, { ...job, enabled: false, revision: job.revision + 1 });
  if (!replicas.some(({ process }) => process.alive)) startReplica();
  const isOpen = ({ state }: RunDocument): boolean => state === 'queued' || state === 'running' || state === 'parked';
  if (!(await simulation.run(() => ![...runs.documents.values()].some(isOpen), STEPS)))
    throw new Error(`unfinished runs: ${JSON.stringify([...runs.documents.values()].filter(isOpen))}`);
  const ended = [...runs.documents.values()];
  for (const job of jobs.documents.values()) {
    const own = ended.filter(({ jobId }) => jobId === job.jobId);
    const { fires, skips } = judgeJob(job, own, completed.filter((jobId) => jobId === job.jobId).length);
    seen.fires += fires;
    seen.skips += skips;
  }
  judgeTurns(ended, turns);
  return seen;
}

function createJob(simulation: Simulation, jobId: string): JobDocument {
  const { dice } = simulation;
  const createdAt = simulation.now();
  const everyMs = dice.of([1_000, 2_000, 5_000]);
  return {
    ...newWork(),
    jobId,
    name: jobId,
    agentId: dice.of(['one', 'two']),
    message: 'What time is it?',
    schedule: { kind: 'interval', everyMs, anchorMs: createdAt },
    principal: { client: 'test', scopes: ['*'] },
    sessionStrategy: 'fresh',
    overlap: dice.of(['skip', 'queue', 'cancel', 'allow'] as const),
    jitterMs: dice.of([0, 0, everyMs / 2]),
    enabled: true,
    firedUntil: createdAt,
    revision: 0,
    createdAt,
    consecutiveErrors: 0,
    firesSinceSuccess: 0,
    dueAt: createdAt + everyMs,
  };
}

/** A sessions service that accepts each key once. Turns end by the clock of the database. */
function simulateSessions(simulation: Simulation, process: Process, turns: Map<string, SimulatedTurn>): Bus {
  const { dice } = simulation;
  const now = (): number => simulation.now();
  const usage = { calls: 1, unknownCalls: 0, input: 1, output: 1, cacheRead: 0, cacheWrite: 0, costUsd: 0 };

  function order(key: string): object {
    const stored = [...turns].find(([, turn]) => turn.key === key);
    const turnId = stored?.[0] ?? `turn_${turns.size}_${randomUUID()}`;
    if (!stored) turns.set(turnId, { key, endsAt: now() + dice.of([0, 300, 4_000]), state: 'running' });
    return { turnId, sessionKey: 'default:test:gateway', state: 'running' };
  }

  function read(turnId: string): object[] {
    const turn = turns.get(turnId);
    if (!turn) return [];
    if (turn.state === 'running' && turn.endsAt <= now()) turn.state = 'done';
    const result = { response: 'It is noon.', tokensUsed: { input: 1, output: 1, total: 2 }, finishReason: 'stop' };
    return [
      {
        turnId,
        state: turn.state,
        ...(turn.state === 'running' ? {} : { usage, startedAt: now() }),
        ...(turn.state === 'done' ? { result } : {}),
      },
    ];
  }

  function answer(method: string, params: { idempotencyKey?: string; turnIds?: string[]; turnId?: string }): object {
    if (method === 'tokens.standing') return { standings: [{ state: 'current' }] };
    if (method === 'turns.order') return order(params.idempotencyKey ?? '');
    if (method === 'turns.ends') return { turns: (params.turnIds ?? []).flatMap(read), missing: [] };
    const turn = turns.get(params.turnId ?? '');
    if (turn?.state === 'running') turn.state = 'cancelled';
    return { turnId: params.turnId, state: turn?.state };
  }

  const call = (method: string, params: object): Promise<object> => process.operation(() => answer(method, params));
  return { as: () => ({ call }) } as unknown as Bus;
}
