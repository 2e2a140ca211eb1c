import { randomUUID } from 'node:crypto';
import type { Handler } from '@switchyard/bus';
import { resolveAgent, SHARED } from '../entries/memory-scope.ts';
import { storeEntry } from '../entries/store-entry.ts';
import type { HandlerDeps } from './handler-deps.ts';

/** Answers once the memory is stored and in the index of this replica. */
export function memoryStore(deps: HandlerDeps): Handler<'memory.store'> {
  return async ({ content, metadata, memory_type, tags, expires_at, agent_id }, ctx) => {
    const { client, agent, session, sessions } = ctx.principal;
    const labels = agent === undefined ? ['operator-stored', 'web-console'] : ['agent-stored', 'agent-tool'];
    const [tag = '', channel = ''] = labels;
    const id = randomUUID();
    const entry = await storeEntry(
      deps,
      {
        id,
        agentId: resolveAgent(ctx.principal, agent_id, deps.settings.current.routing),
        userId: client,
        owner: sessions === 'own' ? client : SHARED,
        content,
        memoryType: memory_type,
        trustLevel: 'learned',
        who: client,
        channel,
        ...(session === undefined ? {} : { sessionKey: session }),
        sourceType: agent === undefined ? 'api' : 'tool',
        taintLevel: 'clean',
        tags: [...new Set([...tags, tag])],
        ...(metadata === undefined ? {} : { metadata }),
        ...(expires_at === undefined ? {} : { expiresAt: expires_at }),
      },
      ctx,
    );
    if (entry) await deps.index.note(ctx.principal.tenant, [entry]);
    return { id, stored: true };
  };
}
