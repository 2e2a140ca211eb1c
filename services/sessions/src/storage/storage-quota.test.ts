import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { systemClock } from '@switchyard/service-kit';
import { openStore, type Collection } from '@switchyard/store';
import { silentLogger } from '@switchyard/telemetry';
import { tempDir } from '@switchyard/testkit';
import { keyedTurnCollection } from '../model/keyed-turn-document.ts';
import { responseSegmentCollection, type ResponseSegmentDocument } from '../model/response-segment-document.ts';
import { sessionCollection, type SessionDocument } from '../model/session-document.ts';
import { storageUsageCollection } from '../model/storage-usage-document.ts';
import { countSegmentBytes } from './stored-bytes.ts';
import { createStorageQuota } from './storage-quota.ts';

const TENANT = { tenant: 'default' };
const OWNER = { ...TENANT, client: 'ann' };

function createSegment(turnId: string, chars: number): ResponseSegmentDocument {
  return { turnId, client: OWNER.client, model: 'm', textId: turnId, content: { chars, text: '' }, links: 0, checkAt: 0 };
}

/** Calls `onFind` before each read, as a writer does that races a recount. */
function withFindHook<D extends SessionDocument>(collection: Collection<D>, onFind: () => Promise<void>): Collection<D> {
  return {
    ...collection,
    for(owner) {
      const documents = collection.for(owner);
      const find: typeof documents.find = async (...options) => {
        await onFind();
        return documents.find(...options);
      };
      return { ...documents, find };
    },
  };
}

for (const counted of [0, 500]) {
  test(`a recount that races writes counts each once, ${counted === 0 ? 'also when the counter was right' : 'and corrects a lost count'}`, async (t) => {
    await using data = await tempDir();
    const store = await openStore(`sqlite:${join(data.path, 'store')}`, { service: 'sessions' });
    t.after(() => store.close());
    const { sessions, kept, segments, usage } = await store.open({
      sessions: sessionCollection,
      kept: keyedTurnCollection,
      segments: responseSegmentCollection,
      usage: storageUsageCollection,
    });
    const [first, early, late] = [createSegment('first', 100), createSegment('early', 200), createSegment('late', 300)];
    await segments.for(TENANT).insert(first);
    await usage.for(TENANT).insert({ id: 'tenant', bytes: countSegmentBytes(first) - counted, recountedAt: 0 });
    await usage.for(TENANT).insert({ id: 'client ann', bytes: countSegmentBytes(first) - counted });
    let reads = 0;
    const write = async (segment: ResponseSegmentDocument): Promise<void> => {
      await segments.for(TENANT).insert(segment);
      quota.add(OWNER, countSegmentBytes(segment));
    };
    // The documents are read after the first write, which the recount therefore contains.
    const racing = withFindHook(sessions, async () => void (++reads === 1 && (await write(early))));
    let sync = (): void => undefined;
    const quota = createStorageQuota({
      sessions: racing,
      kept,
      segments,
      usage,
      store,
      clock: { ...systemClock, every: (_ms, work) => ((sync = work), () => undefined) },
      log: silentLogger(),
      limits: () => ({ maxClientBytes: 1_000_000, maxTenantBytes: 1_000_000 }),
      syncMs: 1_000,
    });
    quota.rejectIfFull(OWNER);
    const getCounts = async () => (await usage.for(TENANT).find({})).items.map(({ bytes }) => bytes);
    const recountedAt = async () => (await usage.for(TENANT).get('tenant'))?.recountedAt;
    /** Runs enough synchronizations for a recount. Each waits for the database. */
    const runSyncs = async (): Promise<void> => {
      for (let syncs = 0; syncs < 300; syncs += 1) {
        sync();
        await getCounts();
        await setImmediate();
      }
    };
    while (reads === 0) {
      sync();
      await setImmediate();
    }
    await write(late);
    await runSyncs();
    assert.ok((await recountedAt()) !== 0);
    const bytes = [first, early, late].reduce((sum, segment) => sum + countSegmentBytes(segment), 0);
    const drift = (await getCounts()).map((count) => count - bytes);
    if (counted === 0) return assert.deepEqual(drift, [0, 0]);
    // The lost count is corrected as far as it exceeds the racing writes, and then by a recount without writes.
    for (const each of drift) assert.ok(each <= 0 && each >= -counted, `${each}`);
    await usage.for(TENANT).update({ id: 'tenant' }, { set: { recountedAt: 1 } });
    await runSyncs();
    assert.deepEqual(await getCounts(), [bytes, bytes]);
  });
}
