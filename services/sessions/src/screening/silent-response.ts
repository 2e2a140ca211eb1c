import type { FilteredReason } from '@switchyard/contracts';

/** Responses that mean "do not deliver anything". */
const TOKENS: Readonly<Record<string, FilteredReason>> = {
  NO_REPLY: 'no_reply',
  ANNOUNCE_SKIP: 'no_reply',
  SILENT: 'silent',
  HEARTBEAT_OK: 'heartbeat_ok',
  '': 'empty',
};
const LONGEST = 64;

/** Returns the reason for not delivering a response, or undefined for a response with content. */
export function saysNothing(response: string): FilteredReason | undefined {
  if (response.length > LONGEST && response.slice(0, LONGEST).trim() !== '') return undefined;
  const text = response.trim();
  return Object.hasOwn(TOKENS, text) ? TOKENS[text] : undefined;
}
