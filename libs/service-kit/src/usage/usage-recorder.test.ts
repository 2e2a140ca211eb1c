import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Collection, OutboxEvent } from '@switchyard/store';
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

const agents = (payloads: readonly unknown[] = []): unknown[] => payloads.map((payload) => (payload as { agentId: string }).agentId);

test('records that arrive during a write share the next document', async () => {
  const { documents, inserts, release } = createDocuments();
  const recorder = createUsageRecorder({ event: 'usage:recorded', documents, store: { now: () => 1_000 }, log: console });
  for (const agentId of ['a', 'b', 'c']) recorder.record(record('one', agentId));
  recorder.record(record('two', 'd'));
  release();
  await recorder[Symbol.asyncDispose]();
  const written = inserts.map(({ tenant, document }) => [tenant, ...agents(document.payloads)]);
  assert.deepEqual(written, [
    ['one', 'a'],
    ['two', 'd'],
    ['one', 'b', 'c'],
  ]);
  for (const { document, emit } of inserts)
    assert.deepEqual(
      emit.map(({ name, payload }) => [name, payload]),
      (document.payloads ?? []).map((payload) => ['usage:recorded', payload]),
    );
  const ids = inserts.flatMap(({ document: { payloads = [] } }) => payloads.map(({ id }) => id));
  assert.equal(new Set(ids).size, 4);
});

test('a document has at most 20 payloads', async () => {
  const { documents, inserts, release } = createDocuments();
  const recorder = createUsageRecorder({ event: 'usage:recorded', documents, store: { now: () => 1_000 }, log: console });
  for (let at = 0; at < 42; at += 1) recorder.record(record('one', `${at}`));
  release();
  await recorder[Symbol.asyncDispose]();
  assert.deepEqual(
    inserts.map(({ document: { payloads = [] } }) => payloads.length),
    [1, 20, 20, 1],
  );
});

test('the log contains each record that could not be written', async () => {
  const { documents, release } = createDocuments(true);
  const lines: { usage: { agentId: string } }[] = [];
  const log = { error: (fields: object) => void lines.push(fields as never) };
  const recorder = createUsageRecorder({ event: 'usage:recorded', documents, store: { now: () => 1_000 }, log: log as never });
  for (const agentId of ['a', 'b', 'c']) recorder.record(record('one', agentId));
  release();
  await recorder[Symbol.asyncDispose]();
  assert.deepEqual(
    lines.map((line) => line.usage.agentId),
    ['a', 'b', 'c'],
  );
});
