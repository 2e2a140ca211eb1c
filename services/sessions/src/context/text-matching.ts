import { ServiceError } from '@switchyard/contracts';
import type { RE2JS } from 're2js';

/** Scores a text against each query, from 0 (no match) to 1. */
export type Fit = (text: string) => readonly number[];

/** Maximum characters of a text that are searched. */
const MAX_CHARS = 100_000;
/** Minimum length of a word for prefix matches. */
const STEM_CHARS = 4;
const MAX_WORDS = 32;
const WORD = /[\p{L}\p{N}]+/gu;

/** Matches words. A whole word scores higher than a prefix. */
export function wordFit(query: string): Fit {
  const words = [...new Set(getWords(query))].slice(0, MAX_WORDS);
  return (text) => {
    const there = new Set(getWords(text.slice(0, MAX_CHARS)));
    return words.map((word) => getFit(word, there));
  };
}

function getFit(word: string, there: ReadonlySet<string>): number {
  if (there.has(word)) return 1;
  if (word.length < STEM_CHARS) return 0;
  for (const other of there) if (other.startsWith(word) || (other.length >= STEM_CHARS && word.startsWith(other))) return 0.5;
  return 0;
}

function getWords(text: string): string[] {
  return text.toLowerCase().match(WORD) ?? [];
}

/** Matches a regular expression in linear time. The pattern comes from a model and is untrusted. */
export async function patternFit(pattern: string): Promise<Fit> {
  const compiled = await compile(pattern);
  return (text) => [compiled.matcher(text.slice(0, MAX_CHARS)).find() ? 1 : 0];
}

/** Loads the library at the first use. */
async function compile(pattern: string): Promise<RE2JS> {
  const { RE2JS } = await import('re2js');
  try {
    return RE2JS.compile(pattern, RE2JS.CASE_INSENSITIVE);
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'invalid syntax';
    throw new ServiceError('INVALID_ARGUMENT', `query: expected a regular expression in RE2 syntax: ${reason}`, { cause: error });
  }
}

export interface Fitting {
  fits: readonly number[];
}

/** Returns the matching texts by score. Rare terms count more than frequent ones. */
export function ranked<T extends Fitting>(all: readonly T[]): (T & { score: number })[] {
  const having = (at: number): number => all.filter(({ fits }) => (fits[at] ?? 0) > 0).length;
  const weights = (all[0]?.fits ?? []).map((_, at) => Math.log(1 + all.length / Math.max(1, having(at))));
  const max = weights.reduce((sum, weight) => sum + weight, 0);
  return all
    .map((one) => ({ ...one, score: one.fits.reduce((sum, fit, at) => sum + fit * (weights[at] ?? 0), 0) / max }))
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score);
}
