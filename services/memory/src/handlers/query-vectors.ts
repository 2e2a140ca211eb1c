import type { Ctx } from '@switchyard/bus';
import type { Given } from './handler-deps.ts';

/** The vector of a query: from the provider, false if it is unavailable, or true if the index computes it. */
export async function vectorsFor(
  { maker, settings }: Pick<Given, 'maker' | 'settings'>,
  query: string,
  { principal, signal, agentId, withinMs }: Pick<Ctx, 'principal' | 'signal'> & { agentId: string; withinMs: number },
): Promise<Int8Array | undefined> {
  return settings.current.embedding.enabled ? maker.ofQuestion(query, { principal, signal, agentId, timeoutMs: withinMs }) : undefined;
}
