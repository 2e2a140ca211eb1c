import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tempDir } from '@switchyard/testkit';
import { MEMORIES, QUERIES } from './ranking.fixture.ts';
import { openSearchEngine } from './search-engine.ts';
import { quantizeVector } from './vector-index.ts';

const LIMIT = 10;
const IDS = Object.keys(MEMORIES);
const MODEL = { name: 'one-dimension-per-memory', dimensions: IDS.length };

/** Normalized discounted cumulative gain: 1 for the ideal order. */
function computeNdcg(ids: readonly string[], relevant: Readonly<Record<string, number>>): number {
  const gain = (grades: readonly number[]): number => grades.reduce((sum, grade, at) => sum + (2 ** grade - 1) / Math.log2(at + 2), 0);
  const ideal = Object.values(relevant).toSorted((a, b) => b - a);
  return gain(ids.slice(0, LIMIT).map((id) => relevant[id] ?? 0)) / gain(ideal.slice(0, LIMIT));
}

function computeMeanNdcg(rankings: readonly (readonly string[])[]): number {
  return rankings.reduce((sum, ids, at) => sum + computeNdcg(ids, QUERIES[at]?.relevant ?? {}), 0) / rankings.length;
}

/** The vector that a good model would return: near to every relevant memory. */
function embed(relevant: Readonly<Record<string, number>>): Int8Array {
  return quantizeVector(Float32Array.from(IDS, (id) => relevant[id] ?? 0));
}

async function openLabelled() {
  const dir = await tempDir();
  const engine = openSearchEngine(dir.path, { identity: 'labelled', vectorModel: MODEL });
  const common = { tenant: 't', group: 'g', owner: '', kind: 'semantic', trust: 'learned', tags: [], session: '', bytes: 0 };
  engine.apply(
    Object.entries(MEMORIES).map(([id, text]) => {
      return { ...common, id, text, createdAt: 0, expiresAt: undefined, version: 1, vector: embed({ [id]: 1 }) };
    }),
    1,
  );
  return {
    search: (text: string, vector?: Int8Array) => engine.search({ tenant: 't', group: 'g', limit: LIMIT, now: 0, text, vector }),
    async [Symbol.asyncDispose]() {
      engine[Symbol.dispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

test('full-text ranking reaches an nDCG@10 above 0.8, and above 0.95 with the vectors of a good model', async (t) => {
  await using index = await openLabelled();
  const rank = (text: string, vector?: Int8Array) => index.search(text, vector).hits.map(({ id }) => id);
  const words = computeMeanNdcg(QUERIES.map(({ text }) => rank(text)));
  const fused = computeMeanNdcg(QUERIES.map(({ text, relevant }) => rank(text, embed(relevant))));
  const message = `nDCG@10: words ${words.toFixed(3)}, fused ${fused.toFixed(3)}`;
  t.diagnostic(message);
  assert.ok(words > 0.8 && fused > 0.95, message);
});

test('ignores a query vector of another length', async () => {
  await using index = await openLabelled();
  for (const { text } of QUERIES) {
    const { hits, vectorCandidates } = index.search(text, new Int8Array(3).fill(1));
    assert.equal(vectorCandidates, 0);
    assert.deepEqual(
      hits.map(({ id }) => id),
      index.search(text).hits.map(({ id }) => id),
    );
  }
});
