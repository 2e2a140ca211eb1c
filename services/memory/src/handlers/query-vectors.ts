import type { Ctx } from '@switchyard/bus';
import type { HandlerDeps } from './handler-deps.ts';

/** Returns the vector of a query, or undefined without a model or if the model does not answer in time. */
export async function embedQueryVector(
  { maker, settings }: Pick<HandlerDeps, 'maker' | 'settings'>,
  query: string,
  { principal, signal, agentId, timeoutMs }: Pick<Ctx, 'principal' | 'signal'> & { agentId: string; timeoutMs: number },
): Promise<Int8Array | undefined> {
  return settings.current.embedding.enabled ? maker.embedQuery(query, { principal, signal, agentId, timeoutMs }) : undefined;
}
