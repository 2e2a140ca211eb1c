import type { Ctx } from '@switchyard/bus';
import type { Given } from './handler-deps.ts';

/** Returns the vector of a query, or undefined without a model or if the model does not answer in time. */
export async function vectorsFor(
  { maker, settings }: Pick<Given, 'maker' | 'settings'>,
  query: string,
  { principal, signal, agentId, withinMs }: Pick<Ctx, 'principal' | 'signal'> & { agentId: string; withinMs: number },
): Promise<Int8Array | undefined> {
  return settings.current.embedding.enabled ? maker.ofQuestion(query, { principal, signal, agentId, timeoutMs: withinMs }) : undefined;
}
