import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { ServiceError } from '@switchyard/contracts';
import { inSteps } from '@switchyard/service-kit';
import { createTextMatcher } from '@switchyard/store';
import type { PatternReply } from './pattern-worker.ts';

/** Scores a text against each word of a query, from 0 (no match) to 1. Does not block the event loop. */
export interface Fit extends AsyncDisposable {
  score(text: string): Promise<readonly number[]>;
}

/** Maximum characters of a text that are searched. */
const MAX_CHARS = 100_000;

/** Matches words as `session.search` does. The word itself scores higher than another form of it. */
export function wordFit(query: string): Fit {
  const matcher = createTextMatcher(query);
  return {
    score: (text) => inSteps(matcher.score(text.slice(0, MAX_CHARS))),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** Matches a regular expression in a worker thread. The pattern comes from a model and is untrusted. The caller scores one text at a time. */
export async function patternFit(pattern: string): Promise<Fit> {
  const worker = new Worker(new URL('./pattern-worker.ts', import.meta.url), { workerData: pattern, name: 'pattern' });
  const receive = async (): Promise<PatternReply> => ((await once(worker, 'message')) as [PatternReply])[0];
  const { failure } = await receive();
  if (failure !== undefined) {
    await worker.terminate();
    throw new ServiceError('INVALID_ARGUMENT', `query: expected a regular expression in RE2 syntax: ${failure}`);
  }
  return {
    async score(text) {
      worker.postMessage(text.slice(0, MAX_CHARS), []);
      const reply = await receive();
      return [reply.failure === undefined && reply.matches ? 1 : 0];
    },
    async [Symbol.asyncDispose]() {
      await worker.terminate();
    },
  };
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
