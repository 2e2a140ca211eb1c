import type { Handler } from '@switchyard/bus';
import type { Result } from '@switchyard/contracts';
import type { AgentDirectory } from '../../agents/agent-directory.ts';
import { getConversation, getMessage, getSummary, type Earlier } from '../../context/conversation-lookup.ts';
import { getMaxLookupChars } from '../../context-window/context-window.ts';
import type { SessionDocument } from '../../model/session-document.ts';

export interface CtxDeps extends Earlier {
  agents: AgentDirectory;
}

type InspectedText = Omit<Result<'ctx.inspect'>, 'chars' | 'next'>;

/** Returns one message or summary, up to the agent's limit per call. */
export function ctxInspect(deps: CtxDeps): Handler<'ctx.inspect'> {
  return async ({ id, offset }, { principal }) => {
    const { tenant } = principal;
    const session = await getConversation(deps, principal);
    const shown = await (id.startsWith('sum_') ? shownSummary : shownMessage)(deps, tenant, { session, id });
    const end = offset + getMaxLookupChars(getAgent(deps, tenant, session));
    const { length: chars } = shown.content;
    return { ...shown, content: shown.content.slice(offset, end).toWellFormed(), chars, ...(end < chars ? { next: end } : {}) };
  };
}

interface InspectRequest {
  session: SessionDocument;
  id: string;
}

async function shownSummary(deps: CtxDeps, tenant: string, request: InspectRequest): Promise<InspectedText> {
  const { id, text, depth, from, to, children, taint, outside, createdAt } = await getSummary(deps, tenant, request);
  const marks = { ...(taint && { untrusted: true as const }), ...(outside && { outside }) };
  return { id, kind: 'summary', at: createdAt, content: text, ...marks, depth, turns: { from, to }, children };
}

async function shownMessage(deps: CtxDeps, tenant: string, inspectRequest: InspectRequest): Promise<InspectedText> {
  const { turn, ...message } = await getMessage(deps, tenant, inspectRequest);
  return { ...message, kind: 'message', turns: { from: turn, to: turn } };
}

/** Returns the agent of a conversation, or the default agent if it was deleted. */
export function getAgent({ agents }: CtxDeps, tenant: string, { agentId }: SessionDocument) {
  return agents.find(tenant, agentId) ?? agents.default(tenant);
}
