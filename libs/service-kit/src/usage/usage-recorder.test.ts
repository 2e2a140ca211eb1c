import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Collection, OutboxEvent } from '@switchyard/store';
import { silentLogger, type Logger } from '@switchyard/telemetry';
import { systemClock } from '../scheduling/clock.ts';
import type { UsageDocument } from './usage-document.ts';
import { createUsageRecorder, type UsageRecord } from './usage-recorder.ts';

interface Inserted {
  tenant: string;
  document: UsageDocument;
  emit: readonly OutboxEvent[];
}

const usage = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, costUsd: 0, calls: 1, unknownCalls: 0 };

function record(tenant: string, agentId: string): UsageRecord<'usage:recorded'> {
  const model = { provider: 'dev', modelId: 'echo' };
  return { tenant, purpose: 'completion', agentId, model, outcome: 'answered', usage };
}

/** Collects inserts. Each one waits until `release` is called. */
function createDocuments(fail = false) {
  const inserts: Inserted[] = [];
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const forTenant = ({ tenant }: { tenant: string }) => ({
    async insert(document: UsageDocument, { emit }: { emit: readonly OutboxEvent[] }) {
      inserts.push({ tenant, document, emit });
      await released;
      if (fail) throw new Error('the database is away');
    },
  });
  const documents = { for: forTenant as unknown as Collection<UsageDocument>['for'] } as Collection<UsageDocument>;
  return { documents, inserts, release };
}

interface StartOptions {
  documents: Collection<UsageDocument>;
  log?: Logger;
}

/** Starts a recorder whose clock stands still until `advance` is called. `delays` are the times until the requested writes. */
function startRecorder({ documents, log = silentLogger() }: StartOptions) {
  const due: (() => void)[] = [];
  const delays: number[] = [];
  const clock = {
    ...systemClock,
    now: () => 1_000,
    after(ms: number, work: () => void) {
      delays.push(ms);
      due.push(work);
      return () => void due.splice(due.indexOf(work), 1);
    },
  };
  const recorder = createUsageRecorder({ event: 'usage:recorded', documents, store: { now: () => 1_000 }, clock, log });
  return { recorder, delays, advance: () => due.splice(0).forEach((work) => work()) };
}

const agents = (records: readonly unknown[] = []): unknown[] => records.map((one) => (one as { agentId: string }).agentId);

test('records of one interval share a document and an event of their tenant', async () => {
  const { documents, inserts, release } = createDocuments();
  const { recorder, advance } = startRecorder({ documents });
  for (const agentId of ['a', 'b', 'c']) recorder.record(record('one', agentId));
  recorder.record(record('two', 'd'));
  assert.equal(inserts.length, 0);
  advance();
  recorder.record(record('one', 'e'));
  advance();
  release();
  await recorder[Symbol.asyncDispose]();
  const written = inserts.map(({ tenant, document }) => [tenant, ...agents(document.records)]);
  assert.deepEqual(written, [
    ['one', 'a', 'b', 'c'],
    ['two', 'd'],
    ['one', 'e'],
  ]);
  for (const { document, emit } of inserts) assert.deepEqual(emit, [{ name: 'usage:recorded', payload: { records: document.records } }]);
  const ids = inserts.flatMap(({ document: { records = [] } }) => records.map(({ id }) => id));
  assert.equal(new Set(ids).size, 5);
});

test('a record is written at once, and the next one after the interval', async () => {
  const { documents, release } = createDocuments();
  const { recorder, advance, delays } = startRecorder({ documents });
  recorder.record(record('one', 'a'));
  advance();
  recorder.record(record('one', 'b'));
  release();
  await recorder[Symbol.asyncDispose]();
  assert.deepEqual(delays, [0, 5]);
});

test('a document has at most 50 records', async () => {
  const { documents, inserts, release } = createDocuments();
  const { recorder, advance } = startRecorder({ documents });
  for (let at = 0; at < 101; at += 1) recorder.record(record('one', `${at}`));
  advance();
  release();
  await recorder[Symbol.asyncDispose]();
  assert.deepEqual(
    inserts.map(({ document: { records = [] } }) => records.length),
    [50, 50, 1],
  );
});

test('disposal writes the records that still wait, each once', async () => {
  const { documents, inserts, release } = createDocuments();
  const { recorder, advance } = startRecorder({ documents });
  recorder.record(record('one', 'a'));
  release();
  await recorder[Symbol.asyncDispose]();
  advance();
  assert.deepEqual(
    inserts.map(({ document }) => agents(document.records)),
    [['a']],
  );
});

test('the log contains each record that could not be written', async () => {
  const { documents, release } = createDocuments(true);
  const lines: { usage: { agentId: string } }[] = [];
  const log = { error: (fields: object) => void lines.push(fields as never) };
  const { recorder } = startRecorder({ documents, log: log as never });
  for (const agentId of ['a', 'b', 'c']) recorder.record(record('one', agentId));
  release();
  await recorder[Symbol.asyncDispose]();
  assert.deepEqual(
    lines.map((line) => line.usage.agentId),
    ['a', 'b', 'c'],
  );
});
