import type { Ctx } from '@switchyard/bus';
import type { Given } from './handler-deps.ts';

/** What a search compares with: a provider's vector, or none of them in time; where none is asked, the index makes its own. */
export async function vectorsFor(
  { maker, settings }: Pick<Given, 'maker' | 'settings'>,
  query: string,
  { principal, signal, agentId, withinMs }: Pick<Ctx, 'principal' | 'signal'> & { agentId: string; withinMs: number },
): Promise<boolean | Int8Array> {
  if (!settings.current.embedding.enabled) return false;
  if (maker.model() === undefined) return true;
  return (await maker.ofQuestion(query, { principal, signal, agentId, timeoutMs: withinMs })) ?? false;
}
