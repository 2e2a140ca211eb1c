import type { Ctx } from '@switchyard/bus';
import type { HandlerDeps } from './handler-deps.ts';

/** The vector of a query: from the provider, false if it is unavailable, or true if the index computes it. */
export async function embedQueryVector(
  { maker, settings }: Pick<HandlerDeps, 'maker' | 'settings'>,
  query: string,
  { principal, signal, agentId, timeoutMs }: Pick<Ctx, 'principal' | 'signal'> & { agentId: string; timeoutMs: number },
): Promise<boolean | Int8Array> {
  if (!settings.current.embedding.enabled) return false;
  if (maker.model() === undefined) return true;
  return (await maker.embedQuery(query, { principal, signal, agentId, timeoutMs })) ?? false;
}
