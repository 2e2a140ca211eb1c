import type { FilteredReason } from '@switchyard/contracts';

/** What agents answer where nothing is to be delivered. */
const TOKENS: Readonly<Record<string, FilteredReason>> = {
  NO_REPLY: 'no_reply',
  SILENT: 'silent',
  HEARTBEAT_OK: 'heartbeat_ok',
  '': 'empty',
};
const LONGEST = 64;

/** Why an answer is not delivered; undefined where it says something. */
export function saysNothing(response: string): FilteredReason | undefined {
  if (response.length > LONGEST && response.slice(0, LONGEST).trim() !== '') return undefined;
  const said = response.trim();
  return Object.hasOwn(TOKENS, said) ? TOKENS[said] : undefined;
}
