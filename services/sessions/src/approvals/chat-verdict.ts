import { ServiceError, type Principal, type Sections } from '@switchyard/contracts';
import { isQuestion, type ApprovalDocument } from './approval-document.ts';
import { getChannel } from '../model/session-key.ts';
import type { Approvals } from './approvals.ts';

/** Characters of an id that are shown in a chat. */
const SHOWN_ID_CHARS = 8;
const PREFIX = 'appr_';

export interface ChatVerdict {
  approved: boolean;
  /** Beginning of an id, `all`, or empty for the only waiting call. */
  selector: string;
  sessionKey: string;
  /** Who sent the message. */
  senderId: string;
}

/** Carries out `/approve` or `/deny` for the calls of one session that wait, and returns the reply. */
export async function answerInChat(
  approvals: Approvals,
  settings: Sections['approvals'],
  principal: Principal,
  { approved, selector, sessionKey, senderId }: ChatVerdict,
): Promise<string> {
  const { tenant } = principal;
  if (!mayAnswer(settings, principal, senderId)) return 'You may not answer approvals. An operator can add you to approvals.approvers.';
  const pending = (await approvals.listPending(tenant)).filter((request) => belongsTo(request, sessionKey) && !isQuestion(request));
  if (pending.length === 0) return 'No call waits for approval in this session.';
  const selected = select(pending, selector.trim());
  if (selected.length === 0) return `No waiting call begins with ${selector.trim()}. It may have been answered already.`;
  if (selected.length > 1 && selector.trim() !== 'all') return `Several calls wait. Name one:\n${selected.map(describe).join('\n')}`;
  const lines: string[] = [];
  for (const request of selected) lines.push(await answerOne(request));
  return lines.join('\n');

  async function answerOne(request: ApprovalDocument): Promise<string> {
    try {
      await approvals.resolve(tenant, request.requestId, { approved, approvedBy: `chat:${senderId}` });
      return `${approved ? 'Approved' : 'Denied'}: ${describe(request)}`;
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'FAILED_PRECONDITION') return error.message;
      throw error;
    }
  }
}

/** A request that a service ordered belongs to its channel, because the service does not know the person who answers. */
export function belongsTo(request: ApprovalDocument, sessionKey: string): boolean {
  if (request.sessionKey === sessionKey) return true;
  return request.origin !== undefined && getChannel(request.sessionKey) === getChannel(sessionKey);
}

/** Returns whether the sender of a message may answer requests. */
export function mayAnswer({ approvers }: Sections['approvals'], { scopes }: Principal, senderId: string): boolean {
  return scopes.includes('admin') || scopes.includes('*') || approvers.includes(senderId);
}

function select(pending: readonly ApprovalDocument[], selector: string): readonly ApprovalDocument[] {
  if (selector === '' || selector === 'all') return pending;
  return pending.filter(({ requestId }) => requestId.startsWith(selector) || requestId.startsWith(`${PREFIX}${selector}`));
}

function describe({ requestId, action }: ApprovalDocument): string {
  return `${requestId.slice(PREFIX.length, PREFIX.length + SHOWN_ID_CHARS)} ${action}`;
}
