import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Collection, Documents } from '@switchyard/store';
import type { Root, SessionDocument } from '../model/session-document.ts';
import type { SummaryDocument } from '../model/summary-document.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import { createBeginnings } from './history-prefix-cache.ts';

const root = (id: string, from = 3): Root => ({ id, from }) as Root;
const at = (epoch: string, ...roots: Root[]) => ({ tenant: 'a', session: { key: 's', epoch, roots } as unknown as SessionDocument });

function testBeginnings(maxChars = 100_000) {
  const requests: string[][] = [];
  const kept = (tenant: string) => ({
    async find({ id }: { id: { in: string[] } }) {
      requests.push(id.in.map((one) => `${tenant} ${one}`));
      return { items: id.in.filter((one) => one !== 'gone').map((one) => ({ id: one, text: `of ${tenant}: ${one}` })) };
    },
  });
  const summaries = { for: ({ tenant }: { tenant: string }) => kept(tenant) } as unknown as Collection<SummaryDocument>;
  let finds = 0;
  const turns = {
    async find({ epoch }: { epoch: string }) {
      finds += 1;
      return { items: [{ turnId: `first of ${epoch}`, message: { chars: 1, text: '?' }, answer: { chars: 1, text: '!' }, seq: 1 }] };
    },
  } as unknown as Documents<TurnDocument>;
  const beginnings = createBeginnings({ maxChars, ttlMs: () => 30_000, clock: { now: () => 0 } });
  const read = async (tenant: string, ...ids: string[]): Promise<string[]> =>
    (
      await beginnings.summaries(
        summaries,
        tenant,
        ids.map((id) => root(id)),
      )
    ).map(({ text }) => text);
  const anchors = async (location: ReturnType<typeof at>): Promise<(string | undefined)[]> =>
    (await beginnings.anchors(turns, location)).map(({ messages: [first] }) => first?.turnId);
  return { read, anchors, asked: requests, finds: () => finds };
}

test('reads each summary once per tenant and returns them in tree order', async () => {
  const { read, asked } = testBeginnings();
  assert.deepEqual(await read('a', 's1', 's2'), ['of a: s1', 'of a: s2']);
  assert.deepEqual(await read('a', 's3', 's2', 's1'), ['of a: s3', 'of a: s2', 'of a: s1']);
  assert.deepEqual(await read('b', 's1'), ['of b: s1']);
  assert.deepEqual(await read('a', 'gone', 's1'), ['of a: s1']);
  assert.deepEqual(asked, [['a s1', 'a s2'], ['a s3'], ['b s1'], ['a gone']]);
});

test('reads evicted summaries again', async () => {
  const { read, asked } = testBeginnings(700);
  for (const id of ['s1', 's2', 's3', 's1']) await read('a', id);
  assert.deepEqual(asked.length, 4);
  await read('a', 's3');
  assert.deepEqual(asked.length, 4);
});

test('reads the first turns once per tenant, conversation and first summary', async () => {
  const { anchors, finds } = testBeginnings();
  assert.deepEqual([await anchors(at('e')), finds()], [[], 0], 'nothing is summed up');
  for (let n = 0; n < 2; n += 1) assert.deepEqual(await anchors(at('e', root('s1'), root('s2', 9))), ['first of e']);
  assert.equal(finds(), 1);
  await anchors({ ...at('e', root('s1')), tenant: 'b' });
  await anchors(at('e', root('s1', 5)));
  assert.equal(finds(), 3);
  assert.deepEqual(await anchors(at('f', root('s1'))), ['first of f']);
});
