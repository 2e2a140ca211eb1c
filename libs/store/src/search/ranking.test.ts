import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { hashEmbedding } from './hash-embedding.ts';
import { openIndexWork } from './index-work.ts';
import { MEMORIES, QUESTIONS } from './labelled.fixture.ts';

const FIRST = 10;

function cosine(a: Int8Array, b: Int8Array): number {
  const dot = (x: Int8Array, y: Int8Array): number => x.reduce((sum, value, at) => sum + value * (y[at] ?? 0), 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

/** How good an order is beside the best one: what stands further down counts for less. */
function ndcg(ids: readonly string[], relevant: Readonly<Record<string, number>>): number {
  const gain = (grades: readonly number[]): number => grades.reduce((sum, grade, at) => sum + (2 ** grade - 1) / Math.log2(at + 2), 0);
  const best = Object.values(relevant).toSorted((a, b) => b - a);
  return gain(ids.slice(0, FIRST).map((id) => relevant[id] ?? 0)) / gain(best.slice(0, FIRST));
}

function mean(orders: readonly (readonly string[])[]): number {
  return orders.reduce((sum, ids, at) => sum + ndcg(ids, QUESTIONS[at]?.relevant ?? {}), 0) / orders.length;
}

test('both lanes together find what is meant at least as well as the better one alone', async (t) => {
  await using dir = await tempDir();
  using index = openIndexWork(dir.path, { identity: 'labelled', cachedVectors: 0 });
  const about = { tenant: 't', group: 'g', owner: '', kind: 'semantic', trust: 'learned', tags: [], session: '', bytes: 0 };
  const entries = Object.entries(MEMORIES).map(([id, text]) => ({ ...about, id, text, createdAt: 0, expiresAt: undefined, version: 1 }));
  index.apply(entries, 1);
  const asked = { tenant: 't', group: 'g', limit: FIRST, now: 0 };
  const search = (text: string, vectors: boolean) => index.search({ ...asked, text, vectors }).hits.map(({ id }) => id);
  const vectors = entries.map(({ id, text }) => ({ id, vector: hashEmbedding(text) }));
  const near = (text: string): string[] => {
    const question = hashEmbedding(text);
    const all = vectors.map(({ id, vector }) => ({ id, near: cosine(question, vector) })).sort((a, b) => b.near - a.near);
    return all.map(({ id }) => id);
  };
  const [words, alike, fused] = [
    mean(QUESTIONS.map(({ ask }) => search(ask, false))),
    mean(QUESTIONS.map(({ ask }) => near(ask))),
    mean(QUESTIONS.map(({ ask }) => search(ask, true))),
  ];
  const said = `nDCG@10: words ${words.toFixed(3)}, vectors ${alike.toFixed(3)}, fused ${fused.toFixed(3)}`;
  t.diagnostic(said);
  assert.ok(fused >= Math.max(words, alike), said);
  assert.ok(words > 0.85 && alike > 0.85, said);
});

test('an index whose vectors are given ranks as one that makes the same ones itself, and by words alone without', async () => {
  await using dir = await tempDir();
  await using other = await tempDir();
  const options = { identity: 'labelled', cachedVectors: 0 };
  using own = openIndexWork(dir.path, options);
  using given = openIndexWork(other.path, { ...options, given: { name: 'elsewhere', dimensions: 512 } });
  const about = { tenant: 't', group: 'g', owner: '', kind: 'semantic', trust: 'learned', tags: [], session: '', bytes: 0 };
  const entries = Object.entries(MEMORIES).map(([id, text]) => ({ ...about, id, text, createdAt: 0, expiresAt: undefined, version: 1 }));
  own.apply(entries, 1);
  given.apply(
    entries.map((entry) => ({ ...entry, vector: hashEmbedding(entry.text) })),
    1,
  );
  for (const { ask: text } of QUESTIONS) {
    const asked = { tenant: 't', group: 'g', limit: FIRST, now: 0, text };
    assert.deepEqual(given.search({ ...asked, vectors: hashEmbedding(text) }), own.search({ ...asked, vectors: true }));
    assert.deepEqual(given.search({ ...asked, vectors: false }), own.search({ ...asked, vectors: false }));
    assert.equal(given.search({ ...asked, vectors: new Int8Array(3) }).vectorCandidates, 0, 'of another length');
  }
});
