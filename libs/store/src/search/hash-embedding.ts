import type { VectorModel } from './search-index.ts';
import { wordsOf } from './words.ts';

/**
 * A small embedding without a model: words, pairs of neighbours, and the pieces of three and four letters that a word is made of, each
 * counted in one of `DIMENSIONS` places that its hash names. Texts that share words, forms of a word or misspellings of it lie close to
 * each other. It knows no synonyms and no other language: what means the same in other letters is as far away as anything else.
 */
export function hashEmbedding(text: string): Int8Array {
  const sums = new Float64Array(DIMENSIONS);
  for (const [hash, weight] of featuresOf(wordsOf(text, MOST_WORDS))) {
    const at = hash % DIMENSIONS;
    // Half of them count downwards, so that features that fall on one place do not look alike.
    sums[at] = (sums[at] ?? 0) + (hash & 0x80_00_00_00 ? -weight : weight);
  }
  return toBytes(sums);
}

const DIMENSIONS = 512;
/** How these are made. */
export const LOCAL_MODEL: VectorModel = { name: 'local/hashed-ngrams-512-1', dimensions: DIMENSIONS };

/** What a text is about is said in so many words of it. */
const MOST_WORDS = 2_000;
const PAIR_WEIGHT = 0.5;
/** Of all pieces of a word together: forms and misspellings share pieces, where whole words are found by the other lane. */
const PIECES_WEIGHT = 2;
const PIECE_LETTERS = [3, 4];

/** How often each feature is there, by its hash. */
function featuresOf(words: readonly string[]): Map<number, number> {
  const counts = new Map<number, number>();
  const add = (hash: number, weight: number): void => void counts.set(hash, (counts.get(hash) ?? 0) + weight);
  let before: number | undefined;
  for (const word of words) {
    const whole = hashOf(word, 0, word.length, WORDS);
    add(whole, 1);
    if (before !== undefined) add(spread(before ^ Math.imul(whole, 0x9e_37_79_b1)), PAIR_WEIGHT);
    addPieces(`<${word}>`, add);
    before = whole;
  }
  // A word that is said ten times does not count ten times.
  for (const [hash, weight] of counts) if (weight > 1) counts.set(hash, 1 + Math.log(weight));
  return counts;
}

function addPieces(marked: string, add: (hash: number, weight: number) => void): void {
  const count = PIECE_LETTERS.reduce((sum, letters) => sum + Math.max(0, marked.length - letters + 1), 0);
  const weight = PIECES_WEIGHT / Math.sqrt(count);
  for (const letters of PIECE_LETTERS) {
    for (let from = 0; from + letters <= marked.length; from++) add(hashOf(marked, from, from + letters, PIECES), weight);
  }
}

/** A word and a piece of the same letters are two features. */
const WORDS = 0x81_1c_9d_c5;
const PIECES = 0x01_23_45_67;

/** FNV-1a. */
function hashOf(text: string, from: number, to: number, seed: number): number {
  let hash = seed;
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01_00_01_93);
  return spread(hash);
}

/** Places are taken from the lowest bits, which FNV spreads worst. */
function spread(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 15), 0x85_eb_ca_6b);
  return (mixed ^ (mixed >>> 13)) >>> 0;
}

/** The direction alone matters, and a byte for each place keeps enough of it. */
export function toBytes(numbers: Float64Array | Float32Array): Int8Array {
  let largest = 0;
  for (const number of numbers) largest = Math.max(largest, Math.abs(number));
  const bytes = new Int8Array(numbers.length);
  if (largest > 0) for (const [at, number] of numbers.entries()) bytes[at] = Math.round((number / largest) * 127);
  return bytes;
}
