import type { MEDIA_USAGE, MediaUsagePurpose, Principal, TurnUsage } from '@switchyard/contracts';
import { getOutcome, type UsageRecorder } from '@switchyard/service-kit';
import type { Candidate } from './provider-chain.ts';

const NO_USAGE: TurnUsage = { calls: 1, unknownCalls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, costUsd: 0 };
const UNKNOWN_USAGE: TurnUsage = { ...NO_USAGE, unknownCalls: 1 };

type KnownUsage = Pick<TurnUsage, 'input' | 'output' | 'costUsd'> & Partial<TurnUsage>;

export interface ProviderCall<T> {
  purpose: MediaUsagePurpose;
  model: Candidate;
  principal: Principal;
  call: () => Promise<T>;
  /** Returns the usage of an answer; undefined if it or its price is unknown. */
  readUsage: (answer: T) => KnownUsage | undefined;
}

/** Calls a provider, and records its usage for billing however the call ends. */
export async function callRecorded<T>(
  usage: UsageRecorder<typeof MEDIA_USAGE>,
  { purpose, model, principal, call, readUsage }: ProviderCall<T>,
): Promise<T> {
  const { tenant, client, agent = 'default' } = principal;
  const { provider, modelId } = model;
  const record = { tenant, client, agentId: agent, purpose, model: { provider, modelId } };
  const isFree = provider === 'dev';
  try {
    const answer = await call();
    const known = readUsage(answer);
    const reported = known === undefined ? UNKNOWN_USAGE : { ...NO_USAGE, ...known };
    usage.record({ ...record, outcome: 'answered', usage: isFree ? NO_USAGE : reported });
    return answer;
  } catch (error) {
    usage.record({ ...record, outcome: getOutcome(error), usage: isFree ? NO_USAGE : UNKNOWN_USAGE });
    throw error;
  }
}

/** Reads the usage of an answer of speech or images. */
export function readUsage({ usage }: { usage?: KnownUsage }): KnownUsage | undefined {
  return usage;
}
