import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { ServiceError } from '@switchyard/contracts';
import { openStore, type Collection } from '@switchyard/store';
import { startMongo, tempDir, type MongoServer } from '@switchyard/testkit';
import { createWork, newWork, type Work } from '@switchyard/work';
import { runCollection, type RunDocument } from '../documents/collections.ts';
import { newRunState } from '../engine/run-state.ts';
import { writeWithSlot } from './live-slots.ts';

const TENANT = { tenant: 'default' };
const MAX_LIVE_RUNS = 100;
/** Calls of each replica. */
const CALLS = 70;
const RUNNING = { status: 'running', liveSlot: { exists: true } };

let mongo: MongoServer;
before(async () => void (mongo = await startMongo()));
after(() => mongo.stop());

interface Replica {
  runs: Collection<RunDocument>;
  work: Work<RunDocument>;
}

/** Opens two replicas with connections of their own to one database. No run is advanced. */
async function openReplicas(own: AsyncDisposableStack, url: string): Promise<Replica[]> {
  const service = `g${randomUUID().slice(0, 8)}`;
  const open = async (owner: string): Promise<Replica> => {
    const store = await openStore(url, { service, strict: true });
    own.defer(() => store.close());
    const { runs } = await store.open({ runs: runCollection });
    const options = { documents: runs, owner, now: () => store.now(), capacity: () => 0 };
    const outcome = () => ({ end: 'failed' as const });
    const work = own.use(createWork<RunDocument>({ ...options, run: async () => ({ end: 'done' }), poison: { maxAttempts: 1, outcome } }));
    return { runs, work };
  };
  return [await open('one'), await open('two')];
}

function createRun(runId: string, liveSlot: number): RunDocument {
  const definition = { nodes: [], onFailure: 'fail-fast' as const, timeoutMs: 1_000 };
  return {
    ...newWork(),
    runId,
    graphId: 'graph',
    principal: { client: 'alice', scopes: ['*'] },
    client: 'alice',
    definition,
    inputs: {},
    run: newRunState(definition, 1),
    status: 'running',
    started: false,
    cancelRequested: false,
    liveSlot,
    startedAt: 1,
  };
}

function isFull(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'RESOURCE_EXHAUSTED' && error.details.reason === 'MAX_GRAPHS';
}

async function checkLimit(url: string): Promise<void> {
  await using own = new AsyncDisposableStack();
  const replicas = await openReplicas(own, url);
  const add = ({ runs, work }: Replica, runId: string) =>
    writeWithSlot({ runs }, TENANT, (liveSlot) => work.add(TENANT, createRun(runId, liveSlot)));
  const calls = replicas.flatMap((replica, at) => Array.from({ length: CALLS }, (_, n) => add(replica, `run_${at}_${n}`)));
  const settled = await Promise.allSettled(calls);
  const rejected = settled.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
  for (const error of rejected) assert.ok(isFull(error), String(error));
  assert.equal(rejected.length, 2 * CALLS - MAX_LIVE_RUNS, 'as many calls are rejected as exceed the limit');
  const [one, two] = replicas as [Replica, Replica];
  const documents = one.runs.for(TENANT);
  assert.equal(await documents.count(RUNNING), MAX_LIVE_RUNS);

  // One run ends, and many calls compete for its slot: new runs, and the ended run itself.
  const [ended] = (await documents.find(RUNNING, { limit: 1 })).items;
  const runId = ended!.runId;
  await documents.update({ runId }, { set: { status: 'failed', liveSlot: undefined } });
  const resume = writeWithSlot({ runs: two.runs }, TENANT, (liveSlot) =>
    two.work.wake(TENANT.tenant, runId, { set: { status: 'running', liveSlot } }, { status: 'failed' }),
  );
  const competing = await Promise.allSettled([
    resume,
    ...replicas.flatMap((replica, at) => [add(replica, `late_${at}`), add(replica, `later_${at}`)]),
  ]);
  assert.equal(competing.filter(({ status }) => status === 'fulfilled').length, 1);
  assert.equal(await documents.count(RUNNING), MAX_LIVE_RUNS);
}

test('SQLite: two replicas that execute at the same time start as many runs as a tenant may have', async () => {
  await using directory = await tempDir();
  await checkLimit(`sqlite:${directory.path}`);
});

test('MongoDB: two replicas that execute at the same time start as many runs as a tenant may have', async () => {
  await checkLimit(mongo.url);
});
