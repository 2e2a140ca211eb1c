import type { Handler } from '@switchyard/bus';
import type { Result } from '@switchyard/contracts';
import type { AgentDirectory } from '../../agents/agent-directory.ts';
import { resolveAgentId } from '../../agents/agent-resolution.ts';
import type { SessionDocument } from '../../model/session-document.ts';
import { visibilityFilter } from '../../model/session-ownership.ts';
import { waitUntilAllSettled, type SettlingDeps } from '../../sessions/session-settling.ts';

type Conversation = Result<'context.conversations'>['conversations'][number];

const PAGE = 1_000;

/** Returns the non-empty conversations of the caller's agent, newest first. */
export function contextConversations({ agents, ...settling }: SettlingDeps & { agents: AgentDirectory }): Handler<'context.conversations'> {
  return async ({ limit, offset }, { principal }) => {
    const mine = settling.sessions.for(principal);
    const filter = { ...visibilityFilter(principal), agentId: resolveAgentId(agents, principal), messageCount: { gt: 0 } };
    const total = await mine.count(filter);
    const matches: SessionDocument[] = [];
    let cursor: string | undefined;
    do {
      const next = { limit: Math.min(PAGE, offset + limit - matches.length), ...(cursor === undefined ? {} : { cursor }) };
      const query = () => mine.find(filter, { sort: [['updatedAt', 'desc']], ...next });
      const page = await waitUntilAllSettled(settling, principal.tenant, query);
      matches.push(...page.items);
      cursor = page.cursor;
    } while (cursor !== undefined && matches.length < offset + limit);
    return { conversations: matches.slice(offset, offset + limit).map((session) => toConversation(principal.tenant, session)), total };
  };
}

function toConversation(
  tenant: string,
  { epoch, agentId, key, epochStartedAt, createdAt, updatedAt, messageCount }: SessionDocument,
): Conversation {
  return {
    conversation_id: epoch,
    tenant_id: tenant,
    agent_id: agentId,
    session_key: key,
    title: null,
    created_at: new Date(epochStartedAt ?? createdAt).toISOString(),
    updated_at: new Date(updatedAt).toISOString(),
    message_count: messageCount,
  };
}
