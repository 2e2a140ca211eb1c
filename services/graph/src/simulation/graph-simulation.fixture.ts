import assert from 'node:assert/strict';
import type { GraphDefinition } from '@switchyard/contracts';
import { pause } from '@switchyard/service-kit';
import { createSimulatedBus, createSimulation, NO_FAULTS, simulatedData, type Process, type Simulation } from '@switchyard/testkit';
import { newWork, type RoomDocument, type Work } from '@switchyard/work';
import type { OutputDocument, RunDocument, StepDocument } from '../documents/collections.ts';
import { createGraph, createRandom } from '../engine/random-graphs.fixture.ts';
import { interpret } from '../engine/reference.fixture.ts';
import { isTerminal, newRunState } from '../engine/run-state.ts';
import { createRunWork, type GraphLimits } from '../runs/run-work.ts';
import { startStepEndSweep } from '../runs/step-end-sweep.ts';
import { createStepWork } from '../runs/step-work.ts';
import { simulateTurns, type StepKey } from './simulated-turns.fixture.ts';

const TENANT = 'default';
const MAX_TURNS = 3;
const STEPS = 400_000;
const STORY_MS = 30_000;
const REPLY_TIMEOUT_MS = 8_000;
const REPLICAS = 2;
const LIMITS: GraphLimits = { maxRunning: 4, maxOutputChars: 12_000, maxSteps: 10, staggerMs: 0, maxTurnMs: undefined };
const SILENT = { warn: () => undefined };

interface Replica {
  process: Process;
  runWork: Work<RunDocument>;
  stepWork: Work<StepDocument>;
}

/** Counts of one story. */
export interface Played {
  nodes: number;
  repeatedOrders: number;
  kills: number;
  cancelled: number;
}

/**
 * Runs random graphs on simulated replicas that are killed, paused and drained while writes, calls and wake-ups fail, are late or are lost.
 * Throws if a run is stuck, a node ends unlike the reference interpreter says, an attempt has a second turn, or a run has two ends.
 */
export async function playGraphs(seed: number): Promise<Played> {
  const simulation = createSimulation(seed, NO_FAULTS);
  const { dice } = simulation;
  const random = createRandom(seed);
  const graphs = new Map(Array.from({ length: 1 + dice.below(3) }, (_, n) => [`run_${n}`, createGraph(random)]));
  const failures = new Map([...graphs].map(([runId, { nodes }]) => [runId, nodes.map(() => dice.of([0, 0, 0, 1, 2, 9]))]));
  const countFailures = (runId: string, nodeId: string): number =>
    failures.get(runId)![graphs.get(runId)!.nodes.findIndex((node) => node.node_id === nodeId)]!;
  const fails = ({ runId, nodeId, attempt }: StepKey): boolean => attempt <= countFailures(runId, nodeId);
  const ends: unknown[] = [];
  const watching = {
    emitted: ({ name, payload }: { name: string; payload: unknown }) => void (name === 'graph:completed' && ends.push(payload)),
  };
  const data = {
    runs: simulatedData<RunDocument>('runs', { key: 'runId' }, watching),
    steps: simulatedData<StepDocument>('steps', { key: 'stepId', unique: [['slotRoom', 'slot']] }),
    outputs: simulatedData<OutputDocument>('outputs', { key: 'outputId' }),
    rooms: simulatedData<RoomDocument>('rooms', { key: 'room' }),
  };
  const isCancelled = ({ runId }: StepKey): boolean => data.runs.documents.get(`${TENANT} ${runId}`)?.cancelRequested === true;
  const bus = createSimulatedBus();
  const { orders, checkOpenTurns } = simulateTurns({ simulation, bus, maxTurns: MAX_TURNS, fails, isCancelled });
  const replicas: Replica[] = [];
  const played: Played = { nodes: 0, repeatedOrders: 0, kills: 0, cancelled: 0 };
  let started = 0;

  function startReplica(): void {
    const process = simulation.start(`r${(started += 1)}`);
    const common = {
      runs: data.runs.from(process),
      steps: data.steps.from(process),
      outputs: data.outputs.from(process),
      rooms: data.rooms.from(process),
      blobs: () => Promise.reject(new Error('the outputs of the simulation are short')),
      bus: bus.from(process),
      owner: process.name,
      clock: process.clock,
      now: () => simulation.now(),
      log: SILENT,
      limits: () => LIMITS,
      awaited: new Set<string>(),
    };
    const runWork = createRunWork({ ...common, stepWork: () => stepWork, onEnd: () => undefined });
    const stepWork: Work<StepDocument> = createStepWork({
      ...common,
      maxSteps: () => MAX_TURNS,
      countWakes: (): number => sweep.countWakes(),
      async wakeRun(tenant, runId) {
        await runWork.wake(tenant, runId);
        void runWork.poll().catch(() => undefined);
      },
    });
    const sweep = startStepEndSweep({ ...common, stepWork });
    replicas.push({ process, runWork, stepWork });
    for (const work of [runWork, stepWork]) void work.poll().catch(() => undefined);
  }

  const outside = simulation.start('outside');
  const wait = (ms: number): Promise<void> => pause(outside.clock, ms);
  const findReplica = (): Replica | undefined => {
    const alive = replicas.filter(({ process }) => process.alive);
    return alive.length === 0 ? undefined : dice.of(alive);
  };

  /** Starts a run as often as a caller that gets no reply, and cancels some. */
  async function runClient(runId: string, definition: GraphDefinition): Promise<void> {
    await wait(dice.below(5_000));
    const document = createRun(simulation, runId, definition);
    for (let isAdded = false; !isAdded;) {
      const adding = findReplica()?.runWork.add({ tenant: TENANT }, document);
      isAdded = await Promise.race([adding?.then(() => true).catch(() => false) ?? false, wait(REPLY_TIMEOUT_MS).then(() => false)]);
      if (!isAdded) await wait(500);
    }
    void findReplica()
      ?.runWork.poll()
      .catch(() => undefined);
    if (!dice.chance(0.15)) return;
    await wait(dice.below(STORY_MS));
    const cancelling = findReplica()?.runWork.wake(TENANT, runId, { set: { cancelRequested: true } }, { status: 'running' });
    await Promise.race([cancelling?.catch(() => undefined), wait(REPLY_TIMEOUT_MS)]);
  }

  /** Kills, pauses or drains a replica. Another one replaces it. */
  async function disturb(): Promise<void> {
    await wait(dice.below(STORY_MS));
    const replica = findReplica();
    if (!replica) return;
    const kind = dice.below(5);
    if (kind < 3) {
      played.kills += 1;
      replica.process.kill();
      await wait(dice.below(3_000));
      startReplica();
    } else if (kind === 3) replica.process.pause(500 + dice.below(12_000));
    else {
      startReplica();
      replicas.splice(replicas.indexOf(replica), 1);
      for (const work of [replica.runWork, replica.stepWork]) void work[Symbol.asyncDispose]();
    }
  }

  const isOver = (): boolean =>
    data.runs.documents.size === graphs.size &&
    [...data.runs.documents.values()].every(({ run }) => run.status !== 'running' && Object.values(run.nodes).every(isTerminal));
  simulation.faults = dice.chance(0.7)
    ? { failsBefore: 0.01, failsAfter: 0.01, slow: 0.01, passes: dice.of([0.02, 0.1]), drops: 0.3, repeats: 0.1 }
    : { ...NO_FAULTS, passes: 0.1 };
  for (let n = 0; n < REPLICAS; n += 1) startReplica();
  let isCalm = false;
  const clients = [...[...graphs].map(([runId, graph]) => runClient(runId, graph)), ...Array.from({ length: 1 + dice.below(5) }, disturb)];
  void Promise.all(clients).then(() => (isCalm = true));
  assert.ok(await simulation.run(() => isCalm, STEPS), 'the clients got no reply');
  simulation.faults = { ...NO_FAULTS, passes: 0.05 };
  assert.ok(
    await simulation.run(isOver, STEPS),
    `a run is stuck: ${JSON.stringify([...data.runs.documents.values()].map(({ run }) => run))}`,
  );

  checkOpenTurns();
  for (const [runId, graph] of graphs) {
    const { run } = data.runs.documents.get(`${TENANT} ${runId}`)!;
    assert.equal(ends.filter((end) => (end as { runId: string }).runId === runId).length, 1, `ends of ${runId}`);
    if (run.status === 'cancelled') played.cancelled += 1;
    const retries = new Map(graph.nodes.map((node) => [node.node_id, node.retries ?? 1]));
    const expected = interpret(graph, (nodeId) => countFailures(runId, nodeId) <= retries.get(nodeId)!);
    for (const [nodeId, { status, attempt }] of Object.entries(run.nodes)) {
      played.nodes += 1;
      if (run.status !== 'cancelled') assert.equal(status, expected[nodeId], `${runId}/${nodeId}`);
      assert.ok(attempt <= retries.get(nodeId)! + 1, `${runId}/${nodeId} has ${attempt} attempts`);
      for (let n = 1; n <= attempt; n += 1)
        assert.ok(orders.has(`${runId}/${nodeId}/${n}/0`), `attempt ${n} of ${runId}/${nodeId} had no turn`);
      assert.ok(!orders.has(`${runId}/${nodeId}/${attempt + 1}/0`), `${runId}/${nodeId} has a turn without an attempt`);
      const output = data.outputs.documents.get(`${TENANT} ${runId}/${nodeId}`);
      assert.equal(output?.text, status === 'completed' ? `${runId}/${nodeId}/${attempt}/0` : undefined, `output of ${runId}/${nodeId}`);
    }
  }
  played.repeatedOrders = [...orders.values()].filter((count) => count > 1).length;
  return played;
}

function createRun(simulation: Simulation, runId: string, definition: GraphDefinition): RunDocument {
  const startedAt = simulation.now();
  return {
    ...newWork(),
    runId,
    graphId: `graph of ${runId}`,
    principal: { client: 'alice', scopes: ['*'] },
    client: 'alice',
    definition: { ...definition, timeoutMs: 86_400_000 },
    inputs: {},
    run: newRunState(definition, startedAt),
    status: 'running',
    started: false,
    cancelRequested: false,
    startedAt,
  };
}

/** Plays seeds as long as `goesOn` holds, and returns what happened in all of them. */
export async function playGraphSeeds(goesOn: (seed: number) => boolean, first = 1): Promise<{ seeds: number; total: Played }> {
  const total: Played = { nodes: 0, repeatedOrders: 0, kills: 0, cancelled: 0 };
  let seed = first;
  for (; goesOn(seed); seed += 1) {
    try {
      const played = await playGraphs(seed);
      for (const name of Object.keys(total) as (keyof Played)[]) total[name] += played[name];
    } catch (error) {
      throw new Error(`with seed ${seed}`, { cause: error });
    }
  }
  return { seeds: seed - first, total };
}
