const TOKEN = 'HEARTBEAT_OK';
/** Text beside the token up to which a reply still means that nothing needs attention. */
const DEFAULT_ACK_MAX_CHARS = 300;
const STARTS_WITH_TOKEN = new RegExp(`^${TOKEN}(?![A-Za-z0-9_])`);
/** Up to four characters may follow the token, for example `.` or `**`. */
const ENDS_WITH_TOKEN = new RegExp(`(?:^|[^A-Za-z0-9_])${TOKEN}[^A-Za-z0-9_]{0,4}$`);
const MEDIA_LINE = /^\s*MEDIA:\s*\S/m;
const CRITICAL = /\b(?:CRITICAL|EMERGENCY)\b/;

export type HeartbeatLevel = 'ok' | 'alert' | 'critical';

export interface HeartbeatReply {
  level: HeartbeatLevel;
  /** The reply without the token. */
  text: string;
  /** Whether the reply has an attachment, which is always delivered. */
  hasMedia: boolean;
}

/** Reads the reply of a heartbeat turn. A reply with the token and little else is `ok`; CRITICAL and EMERGENCY make it `critical`. */
export function readReply(reply: string, ackMaxChars = DEFAULT_ACK_MAX_CHARS): HeartbeatReply {
  const whole = reply.trim();
  const hasMedia = MEDIA_LINE.test(whole);
  const hasToken = STARTS_WITH_TOKEN.test(whole) || ENDS_WITH_TOKEN.test(whole);
  const rest = hasToken ? removeToken(whole) : whole;
  if (CRITICAL.test(rest)) return { level: 'critical', text: rest, hasMedia };
  const isOk = hasToken && rest.length <= ackMaxChars;
  return { level: isOk ? 'ok' : 'alert', text: rest, hasMedia };
}

function removeToken(whole: string): string {
  const start = STARTS_WITH_TOKEN.test(whole) ? 0 : whole.lastIndexOf(TOKEN);
  const before = whole.slice(0, start);
  const after = whole.slice(start + TOKEN.length);
  return (/[A-Za-z0-9_]/.test(after) ? before + after : before).trim();
}
