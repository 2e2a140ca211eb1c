import type { Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import { getConversation } from '../../context/conversation-lookup.ts';
import { getMaxLookupChars } from '../../context-window/context-window.ts';
import type { SessionDocument } from '../../model/session-document.ts';
import { type TurnDocument, hasEnded } from '../../model/turn-document.ts';
import { getAgent, type CtxDeps } from './ctx-inspect.ts';

/** Returns a tool result, up to the agent's limit per call. Returns NOT_FOUND for a result of another conversation. */
export function ctxResult(deps: CtxDeps): Handler<'ctx.result'> {
  return async ({ id, offset }, { principal }) => {
    const session = await getConversation(deps, principal);
    const [turnId = ''] = id.split('/');
    const turn = await deps.turns.for(principal).get(turnId);
    const kept = turn && getIsPart(turn, session) ? await deps.bodies.for(principal).get(id) : null;
    if (!kept) throw new ServiceError('NOT_FOUND', 'Tool result not found in this conversation.');
    const end = offset + getMaxLookupChars(getAgent(deps, principal.tenant, session));
    const { length: chars } = kept.text;
    const marks = turn?.tainted ? { outside: true as const } : {};
    return { id, content: kept.text.slice(offset, end).toWellFormed(), ...marks, chars, ...(end < chars ? { next: end } : {}) };
  };
}

/** Results of an earlier epoch are not readable. */
function getIsPart(turn: TurnDocument, { key, epoch }: SessionDocument): boolean {
  return turn.sessionKey === key && (!hasEnded(turn) || turn.epoch === epoch);
}
