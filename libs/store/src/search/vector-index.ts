import { LRUCache } from 'lru-cache';
import type { IndexFile } from './index-file.ts';
import type { SearchEntry, VectorModel } from './search-index.ts';

export interface NearestOptions {
  owners: readonly string[] | undefined;
  trust: readonly string[] | undefined;
  now: number;
  limit: number;
  minCosine?: number;
}

/** The vectors of recently searched partitions, in memory. A search compares the query with every vector of its partition. */
export interface VectorIndex {
  /** Returns ids, nearest first. Ties are ordered by id. */
  findNearest(partition: string, vector: Int8Array, options: NearestOptions): string[];
  put(partition: string, entry: Pick<SearchEntry, 'id' | 'owner' | 'trust' | 'expiresAt'>, vector: Int8Array): void;
  remove(partition: string, id: string): void;
  clear(): void;
}

interface IndexedVector {
  id: string;
  owner: string;
  trust: string;
  expires: number;
  norm: number;
}

/** Vector `n` of `entries` starts at `n * dimensions` in `vectors`. */
interface Partition {
  entries: IndexedVector[];
  positions: Map<string, number>;
  vectors: Int8Array;
  dimensions: number;
}

/** Unrelated texts may reach a lower cosine by chance. */
const MIN_COSINE = 0.12;
/** Only the newest vectors of a larger partition are searched. */
const MAX_PARTITION_VECTORS = 100_000;
/** Limit of all partitions; the least recently searched partition is evicted first. */
const MAX_CACHED_VECTORS = 200_000;

/** Without a model nothing is ever found. */
export function createVectorIndex({ prepare }: IndexFile, model: VectorModel | undefined): VectorIndex {
  const dimensions = model?.dimensions ?? 0;
  const partitions = new LRUCache<string, Partition>({ maxSize: MAX_CACHED_VECTORS, sizeCalculation: ({ entries }) => entries.length + 1 });

  function load(name: string): Partition {
    const rows = prepare(
      `SELECT id, owner, trust, expires, vector FROM entries JOIN vectors USING (row) WHERE part = ? AND gone = 0
       ORDER BY row DESC LIMIT ${MAX_PARTITION_VECTORS}`,
    ).all(name);
    const partition: Partition = { entries: [], positions: new Map(), vectors: new Int8Array(rows.length * dimensions), dimensions };
    for (const { id, owner, trust, expires, vector } of rows) {
      const entry = {
        id: String(id),
        owner: String(owner),
        trust: String(trust),
        expiresAt: expires === null ? undefined : Number(expires),
      };
      putVector(partition, entry, new Int8Array((vector as Uint8Array).buffer, (vector as Uint8Array).byteOffset, dimensions));
    }
    return partition;
  }

  function getPartition(name: string): Partition {
    const partition = partitions.get(name) ?? load(name);
    // Sets it again because its size may have changed since.
    partitions.set(name, partition);
    return partition;
  }

  return {
    findNearest: (name, vector, options) => (vector.length === dimensions ? findNearest(getPartition(name), vector, options) : []),
    put(name, entry, vector) {
      const partition = partitions.peek(name);
      if (partition && (partition.positions.has(entry.id) || partition.entries.length < MAX_PARTITION_VECTORS))
        putVector(partition, entry, vector);
    },
    remove(name, id) {
      const partition = partitions.peek(name);
      if (partition) removeVector(partition, id);
    },
    clear: () => partitions.clear(),
  };
}

function findNearest(
  { entries, vectors, dimensions }: Partition,
  vector: Int8Array,
  { owners, trust, now, limit, minCosine = MIN_COSINE }: NearestOptions,
): string[] {
  const queryNorm = computeNorm(vector);
  if (queryNorm === 0) return [];
  const best: { id: string; cosine: number }[] = [];
  let threshold = minCosine;
  for (const [position, entry] of entries.entries()) {
    if (entry.expires <= now || entry.norm === 0) continue;
    if (owners && !owners.includes(entry.owner)) continue;
    if (trust && !trust.includes(entry.trust)) continue;
    const cosine = computeDot(vectors, position * dimensions, vector) / (entry.norm * queryNorm);
    if (cosine < threshold) continue;
    best.push({ id: entry.id, cosine });
    // Few of many vectors are near, so sorting is rare.
    if (best.length >= limit * 4) threshold = keepBest(best, limit, minCosine);
  }
  keepBest(best, limit, minCosine);
  return best.map(({ id }) => id);
}

/** Sorts and truncates the list. Returns the cosine that the next candidate must reach. */
function keepBest(best: { id: string; cosine: number }[], limit: number, minCosine: number): number {
  best.sort((a, b) => b.cosine - a.cosine || (a.id < b.id ? -1 : 1));
  best.length = Math.min(best.length, limit);
  return best.length < limit ? minCosine : (best.at(-1)?.cosine ?? minCosine);
}

/** Unrolled four times: a search among many vectors spends nearly all of its time here. */
function computeDot(vectors: Int8Array, offset: number, vector: Int8Array): number {
  let sum = 0;
  let i = 0;
  for (let at = offset; i + 3 < vector.length; i += 4, at += 4) {
    sum +=
      (vectors[at] as number) * (vector[i] as number) +
      (vectors[at + 1] as number) * (vector[i + 1] as number) +
      (vectors[at + 2] as number) * (vector[i + 2] as number) +
      (vectors[at + 3] as number) * (vector[i + 3] as number);
  }
  for (; i < vector.length; i += 1) sum += (vectors[offset + i] as number) * (vector[i] as number);
  return sum;
}

function computeNorm(vector: Int8Array): number {
  return Math.sqrt(computeDot(vector, 0, vector));
}

function putVector(partition: Partition, entry: Pick<SearchEntry, 'id' | 'owner' | 'trust' | 'expiresAt'>, vector: Int8Array): void {
  const { id, owner, trust, expiresAt = Infinity } = entry;
  const { dimensions } = partition;
  const position = partition.positions.get(id) ?? partition.entries.length;
  if ((position + 1) * dimensions > partition.vectors.length) partition.vectors = growArray(partition.vectors, dimensions);
  partition.vectors.set(vector, position * dimensions);
  partition.entries[position] = { id, owner, trust, expires: expiresAt, norm: computeNorm(vector) };
  partition.positions.set(id, position);
}

function growArray(vectors: Int8Array, dimensions: number): Int8Array {
  const larger = new Int8Array(Math.max(64 * dimensions, vectors.length * 2));
  larger.set(vectors);
  return larger;
}

/** Moves the last vector to the freed position. */
function removeVector(partition: Partition, id: string): void {
  const position = partition.positions.get(id);
  if (position === undefined) return;
  partition.positions.delete(id);
  const last = partition.entries.pop();
  if (last === undefined || last.id === id) return;
  const { dimensions } = partition;
  const start = partition.entries.length * dimensions;
  partition.vectors.copyWithin(position * dimensions, start, start + dimensions);
  partition.entries[position] = last;
  partition.positions.set(last.id, position);
}

/** Scales a vector to one byte per dimension. Cosines depend on the direction only, which this keeps closely enough. */
export function quantizeVector(numbers: Float64Array | Float32Array): Int8Array {
  let max = 0;
  for (const number of numbers) max = Math.max(max, Math.abs(number));
  const bytes = new Int8Array(numbers.length);
  if (max > 0) for (const [index, number] of numbers.entries()) bytes[index] = Math.round((number / max) * 127);
  return bytes;
}
