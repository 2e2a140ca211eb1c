import type { IndexFile } from './index-file.ts';
import type { SearchEntry } from './search-index.ts';

/** Which of a part's vectors may be found. */
export interface Wanted {
  owners: readonly string[] | undefined;
  trust: readonly string[] | undefined;
  now: number;
  limit: number;
  /** The least cosine, where what chance makes alike is not the bound. */
  least?: number;
}

/** The vectors of the parts that are asked for, kept in memory: each question is compared with all of its part. */
export interface VectorLane {
  /** Ids, nearest first; equal ones by id. */
  nearest(part: string, vector: Int8Array, wanted: Wanted): string[];
  /** An entry is there, or is as it says now. */
  put(part: string, entry: Pick<SearchEntry, 'id' | 'owner' | 'trust' | 'expiresAt'>, vector: Int8Array): void;
  remove(part: string, id: string): void;
  clear(): void;
}

interface Known {
  id: string;
  owner: string;
  trust: string;
  expires: number;
  norm: number;
}

/** The vectors of a part stand behind each other, in the order of `known`. */
interface Part {
  known: Known[];
  at: Map<string, number>;
  vectors: Int8Array;
  dimensions: number;
}

/** Below it nothing but chance and common pieces of words make two texts alike. */
const LEAST_COSINE = 0.12;
/** Of a part with more, the newest. */
const MOST_OF_A_PART = 100_000;
/** Together; the part that was asked for longest ago goes first. */
const MOST_KEPT = 200_000;

export function createVectorLane({ prepare, model: { dimensions } }: IndexFile): VectorLane {
  const parts = new Map<string, Part>();

  function load(name: string): Part {
    const rows = prepare(
      `SELECT id, owner, trust, expires, vector FROM entries JOIN vectors USING (row) WHERE part = ? AND gone = 0
       ORDER BY row DESC LIMIT ${MOST_OF_A_PART}`,
    );
    const part: Part = { known: [], at: new Map(), vectors: new Int8Array(0), dimensions };
    const found = rows.all(name);
    part.vectors = new Int8Array(found.length * dimensions);
    for (const { id, owner, trust, expires, vector } of found) {
      const entry = {
        id: String(id),
        owner: String(owner),
        trust: String(trust),
        expiresAt: expires === null ? undefined : Number(expires),
      };
      add(part, entry, new Int8Array((vector as Uint8Array).buffer, (vector as Uint8Array).byteOffset, dimensions));
    }
    return part;
  }

  /** Those that are asked for now are the last to be forgotten. */
  function partOf(name: string): Part {
    const part = parts.get(name) ?? load(name);
    parts.delete(name);
    parts.set(name, part);
    let kept = 0;
    for (const { known } of parts.values()) kept += known.length;
    for (const [oldest, { known }] of parts) {
      if (kept <= MOST_KEPT || oldest === name) break;
      parts.delete(oldest);
      kept -= known.length;
    }
    return part;
  }

  return {
    nearest: (name, vector, wanted) => nearest(partOf(name), vector, wanted),
    put(name, entry, vector) {
      const part = parts.get(name);
      if (part && (part.at.has(entry.id) || part.known.length < MOST_OF_A_PART)) add(part, entry, vector);
    },
    remove(name, id) {
      const part = parts.get(name);
      if (part) drop(part, id);
    },
    clear: () => parts.clear(),
  };
}

function nearest(
  { known, vectors, dimensions }: Part,
  vector: Int8Array,
  { owners, trust, now, limit, least: floor = LEAST_COSINE }: Wanted,
): string[] {
  const asked = vector.length === dimensions ? normOf(vector) : 0;
  if (asked === 0) return [];
  const best: { id: string; cosine: number }[] = [];
  let least = floor;
  for (const [at, one] of known.entries()) {
    if (one.expires <= now || one.norm === 0) continue;
    if (owners && !owners.includes(one.owner)) continue;
    if (trust && !trust.includes(one.trust)) continue;
    const cosine = dot(vectors, at * dimensions, vector) / (one.norm * asked);
    if (cosine < least) continue;
    best.push({ id: one.id, cosine });
    // Sorted only now and then: few of many are near.
    if (best.length >= limit * 4) least = keepBest(best, limit, floor);
  }
  keepBest(best, limit, floor);
  return best.map(({ id }) => id);
}

/** Gives what the next one must reach. */
function keepBest(best: { id: string; cosine: number }[], limit: number, floor: number): number {
  best.sort((a, b) => b.cosine - a.cosine || (a.id < b.id ? -1 : 1));
  best.length = Math.min(best.length, limit);
  return best.length < limit ? floor : (best.at(-1)?.cosine ?? floor);
}

/** Four at a time: this is all that a search among many spends its time on. */
function dot(vectors: Int8Array, from: number, vector: Int8Array): number {
  let sum = 0;
  let i = 0;
  for (let at = from; i + 3 < vector.length; i += 4, at += 4) {
    sum +=
      (vectors[at] as number) * (vector[i] as number) +
      (vectors[at + 1] as number) * (vector[i + 1] as number) +
      (vectors[at + 2] as number) * (vector[i + 2] as number) +
      (vectors[at + 3] as number) * (vector[i + 3] as number);
  }
  for (; i < vector.length; i += 1) sum += (vectors[from + i] as number) * (vector[i] as number);
  return sum;
}

function normOf(vector: Int8Array): number {
  return Math.sqrt(dot(vector, 0, vector));
}

function add(part: Part, entry: Pick<SearchEntry, 'id' | 'owner' | 'trust' | 'expiresAt'>, vector: Int8Array): void {
  const { id, owner, trust, expiresAt = Infinity } = entry;
  const { dimensions } = part;
  const at = part.at.get(id) ?? part.known.length;
  if ((at + 1) * dimensions > part.vectors.length) part.vectors = grown(part.vectors, dimensions);
  part.vectors.set(vector, at * dimensions);
  part.known[at] = { id, owner, trust, expires: expiresAt, norm: normOf(vector) };
  part.at.set(id, at);
}

function grown(vectors: Int8Array, dimensions: number): Int8Array {
  const larger = new Int8Array(Math.max(64 * dimensions, vectors.length * 2));
  larger.set(vectors);
  return larger;
}

/** The last one takes its place. */
function drop(part: Part, id: string): void {
  const at = part.at.get(id);
  const last = part.known.pop();
  if (at === undefined || !last) return void (last && part.known.push(last));
  part.at.delete(id);
  if (last.id === id) return;
  const { dimensions } = part;
  part.vectors.copyWithin(at * dimensions, part.known.length * dimensions, (part.known.length + 1) * dimensions);
  part.known[at] = last;
  part.at.set(last.id, at);
}
