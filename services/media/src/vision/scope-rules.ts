import type { MediaSettings } from '../deps/media-deps.ts';

/** Text of a result that the scope rules deny. */
export const SCOPE_DENIED = 'Image and video analysis is not available in this context.';

/** Whether the first matching scope rule, or the default, allows analysis for a session. Calls without a session match rules without conditions. */
export function isAllowedByScope({ current }: MediaSettings, sessionKey: string | undefined): boolean {
  const { scopeRules, defaultScopeAction } = current.media.vision;
  const { channel, chatType } = readScope(sessionKey);
  const rule = scopeRules.find(
    (one) =>
      (one.channel === undefined || one.channel === channel) &&
      (one.chatType === undefined || one.chatType === chatType) &&
      (one.keyPrefix === undefined || (sessionKey ?? '').startsWith(one.keyPrefix)),
  );
  return (rule?.action ?? defaultScopeAction) === 'allow';
}

/** Channel and kind of chat of a session key: `[agent:<id>:]<tenant>:<user>:<channel>[:peer:<p>][:guild:<g>][:thread:<t>]`. */
function readScope(sessionKey: string | undefined): { channel?: string | undefined; chatType?: string } {
  if (sessionKey === undefined) return {};
  const parts = sessionKey.replace(/^agent:[^:]+:/, '').split(':');
  const chatType = parts.includes('thread') ? 'thread' : parts.includes('guild') ? 'group' : 'dm';
  return { channel: parts[2], chatType };
}
