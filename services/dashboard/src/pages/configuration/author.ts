import type { CallResult } from '@switchyard/client';

type Entry = CallResult<'config.history'>['entries'][number];

/** Characters of the hash of a version that are shown. The methods accept a unique prefix. */
export const SHORT = 12;

/** Names the token that wrote a version, and the user or the agent on whose behalf it did so. */
export function formatAuthor({ author = 'unknown', user, agent }: Entry): string {
  return `${author}${user === undefined ? '' : ` for ${user}`}${agent === undefined ? '' : ` by agent ${agent}`}`;
}
