import type { Handler } from '@switchyard/bus';
import { getConversation, getMessage, messagesBetween, getSummary, type EarlierMessage } from '../../context/conversation-lookup.ts';
import { getMaxLookupChars } from '../../context-window/context-window.ts';
import { getAgent, type CtxDeps } from './ctx-inspect.ts';

const MAX_MESSAGES = 1_000;
const CUT = '… [truncated; ctx_inspect returns the complete text]';

/**
 * Returns the messages behind a summary, oldest first. One call returns as much as the agent's limit permits, and at least one message.
 */
export function ctxExpand(deps: CtxDeps): Handler<'ctx.expand'> {
  return async ({ summary_id: summaryId, from }, { principal }) => {
    const { tenant } = principal;
    const session = await getConversation(deps, principal);
    const summary = await getSummary(deps, tenant, { session, id: summaryId });
    const first = from === undefined ? undefined : await getMessage(deps, tenant, { session, id: from });
    const messages: EarlierMessage[] = [];
    let room = getMaxLookupChars(getAgent(deps, tenant, session));
    let isStarted = first === undefined;
    for await (const message of messagesBetween(deps, tenant, { session, from: first?.turn ?? summary.from, to: summary.to })) {
      isStarted ||= message.id === from;
      if (!isStarted) continue;
      const { length } = message.content;
      if (messages.length > 0 && (length > room || messages.length === MAX_MESSAGES)) return { summaryId, messages, next: message.id };
      messages.push(length > room ? { ...message, content: `${message.content.slice(0, room).toWellFormed()}${CUT}` } : message);
      room -= Math.min(room, length);
    }
    return { summaryId, messages };
  };
}
