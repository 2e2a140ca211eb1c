import type { Handler } from '@switchyard/bus';
import { conversationOf, messageOf, messagesBetween, summaryOf, type EarlierMessage } from '../../context/conversation-lookup.ts';
import { getMaxLookupChars } from '../../context-window/context-window.ts';
import { agentOf, type CtxDeps } from './ctx-inspect.ts';

const MOST_MESSAGES = 1_000;
const CUT = '… [ctx_inspect has all of it]';

/**
 * Returns the messages behind a summary, oldest first. One call returns as much as the agent's limit permits, and at least one message.
 */
export function ctxExpand(deps: CtxDeps): Handler<'ctx.expand'> {
  return async ({ summary_id: summaryId, from }, { principal }) => {
    const { tenant } = principal;
    const session = await conversationOf(deps, principal);
    const summary = await summaryOf(deps, tenant, { session, id: summaryId });
    const first = from === undefined ? undefined : await messageOf(deps, tenant, { session, id: from });
    const messages: EarlierMessage[] = [];
    let room = getMaxLookupChars(agentOf(deps, tenant, session));
    let begun = first === undefined;
    for await (const message of messagesBetween(deps, tenant, { session, from: first?.turn ?? summary.from, to: summary.to })) {
      begun ||= message.id === from;
      if (!begun) continue;
      const { length } = message.content;
      if (messages.length > 0 && (length > room || messages.length === MOST_MESSAGES)) return { summaryId, messages, next: message.id };
      messages.push(length > room ? { ...message, content: `${message.content.slice(0, room).toWellFormed()}${CUT}` } : message);
      room -= Math.min(room, length);
    }
    return { summaryId, messages };
  };
}
