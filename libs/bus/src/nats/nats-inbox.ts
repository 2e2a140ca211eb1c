import { subjectToken } from '../wire/encoding.ts';
import { REPLY_TOKEN } from '../wire/reply-mux.ts';

/** Where everything for the connections of one service arrives, and nothing for anybody else's. */
export function formatInbox(service: string): string {
  return `_INBOX_${subjectToken(service)}`;
}

/** Where one may answer what another one asked: each reply subject ends in the name of who was asked. */
export function formatReplyPattern(asker: string, answerer: string): string {
  return `${formatInbox(asker)}.*.${REPLY_TOKEN}.*.${answerer}`;
}
