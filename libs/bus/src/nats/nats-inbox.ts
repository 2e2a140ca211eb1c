import { subjectToken } from '../wire/encoding.ts';
import { REPLY_TOKEN } from '../wire/reply-mux.ts';

/** Inbox prefix of a service. NATS permissions let only this service subscribe to it. */
export function formatInbox(service: string): string {
  return `_INBOX_${subjectToken(service)}`;
}

/** Pattern of the reply subjects that a service may publish to. Each reply subject ends in the name of the responder. */
export function formatReplyPattern(asker: string, answerer: string): string {
  return `${formatInbox(asker)}.*.${REPLY_TOKEN}.*.${answerer}`;
}
