import type { Principal, Sections } from '@switchyard/contracts';
import type { Approvals } from './approvals.ts';
import { belongsTo, mayAnswer, type ChatVerdict } from './chat-verdict.ts';
import { readVerdictWords } from './verdict-words.ts';

export interface GateReplyOptions {
  approvals: Pick<Approvals, 'listPending'>;
  settings: Sections['approvals'];
  principal: Principal;
  message: string;
  sessionKey: string;
  senderId: string;
}

/**
 * Returns the verdict of a plain message such as "yes", if a request that a service ordered waits in its channel and the sender may answer.
 * Tool calls are answered by `/approve` and `/deny` only. Any other message costs no read.
 */
export async function findGateReply({
  approvals,
  settings,
  principal,
  message,
  sessionKey,
  senderId,
}: GateReplyOptions): Promise<Pick<ChatVerdict, 'approved' | 'selector'> | undefined> {
  const approved = readVerdictWords(message);
  if (approved === undefined || !mayAnswer(settings, principal, senderId)) return undefined;
  const pending = await approvals.listPending(principal.tenant);
  const waiting = pending.filter((request) => request.origin !== undefined && belongsTo(request, sessionKey));
  const [first] = waiting;
  if (!first) return undefined;
  // If several requests wait, the sender must name one.
  return { approved, selector: waiting.length === 1 ? first.requestId : '' };
}
