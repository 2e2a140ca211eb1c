import { ServiceError } from '@switchyard/contracts';
import { createTextMatcher } from '@switchyard/store';
import type { RE2JS } from 're2js';

/** Scores a text against each word of a query, from 0 (no match) to 1. Long texts are matched in steps. */
export type Fit = (text: string) => Generator<void, readonly number[]>;

/** Maximum characters of a text that are searched. */
const MAX_CHARS = 100_000;

/** Matches words as `session.search` does. The word itself scores higher than another form of it. */
export function wordFit(query: string): Fit {
  const matcher = createTextMatcher(query);
  return (text) => matcher.score(text.slice(0, MAX_CHARS));
}

/** Matches a regular expression in linear time. The pattern comes from a model and is untrusted. */
export async function patternFit(pattern: string): Promise<Fit> {
  const compiled = await compile(pattern);
  return function* (text) {
    yield;
    return [compiled.matcher(text.slice(0, MAX_CHARS)).find() ? 1 : 0];
  };
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

/** Returns the matching texts of `count` searched ones by score. Rare terms count more than frequent ones. */
export function ranked<T extends Fitting>(all: readonly T[], count: number): (T & { score: number })[] {
  const having = (at: number): number => all.filter(({ fits }) => (fits[at] ?? 0) > 0).length;
  const weights = (all[0]?.fits ?? []).map((_, at) => Math.log(1 + count / Math.max(1, having(at))));
  const max = weights.reduce((sum, weight) => sum + weight, 0);
  return all
    .map((one) => ({ ...one, score: one.fits.reduce((sum, fit, at) => sum + fit * (weights[at] ?? 0), 0) / max }))
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score);
}
