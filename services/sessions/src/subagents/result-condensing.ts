import type { Sections } from '@switchyard/contracts';

const CHARS_PER_TOKEN = 4;
/** Share of a truncated result that is taken from its beginning. */
const HEAD_SHARE = 0.6;
const GAP = '\n\n[… the middle was left out; session.run_status returns the full text …]\n\n';

type ResultLimits = Pick<Sections['security']['agentToAgent']['subagentContext'], 'maxResultTokens' | 'condensationStrategy'>;

/** Text of a result for the parent. Level 1 is the whole text, level 3 its beginning and end. */
export interface CondensedResult {
  level: 1 | 3;
  text: string;
}

export function condense(response: string, { maxResultTokens, condensationStrategy }: ResultLimits): CondensedResult {
  const maxChars = maxResultTokens * CHARS_PER_TOKEN;
  if (condensationStrategy === 'never' || response.length <= maxChars) return { level: 1, text: response };
  const head = response.slice(0, Math.floor(maxChars * HEAD_SHARE));
  const tail = response.slice(response.length - Math.floor(maxChars * (1 - HEAD_SHARE)));
  return { level: 3, text: `${head}${GAP}${tail}`.toWellFormed() };
}
