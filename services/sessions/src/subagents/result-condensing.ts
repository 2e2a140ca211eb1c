import type { Sections } from '@switchyard/contracts';

const CHARS_PER_TOKEN = 4;
/** Share of a truncated result that is taken from its beginning. */
const HEAD_SHARE = 0.6;
const GAP = '\n\n[… the middle was left out; session.run_status returns the full text …]\n\n';
const FULL_TEXT = '[This is a summary; session.run_status returns the full text.]';

type ResultLimits = Pick<Sections['security']['agentToAgent']['subagentContext'], 'maxResultTokens' | 'condensationStrategy'>;

/** Text of a result for the parent. Level 1 is the whole text, level 2 its summary, level 3 its beginning and end. */
export interface CondensedResult {
  level: 1 | 2 | 3;
  text: string;
}

/** Returns whether a model should summarize the result. */
export function needsSummary(response: string, { maxResultTokens, condensationStrategy }: ResultLimits): boolean {
  if (condensationStrategy === 'never' || response === '') return false;
  return condensationStrategy === 'always' || response.length > maxResultTokens * CHARS_PER_TOKEN;
}

/** A summary that is longer than the limit is not used. */
export function condense(response: string, { maxResultTokens, condensationStrategy }: ResultLimits, summary?: string): CondensedResult {
  const maxChars = maxResultTokens * CHARS_PER_TOKEN;
  if (summary !== undefined && summary.length <= maxChars) return { level: 2, text: `${summary}\n${FULL_TEXT}` };
  if (condensationStrategy === 'never' || response.length <= maxChars) return { level: 1, text: response };
  const head = response.slice(0, Math.floor(maxChars * HEAD_SHARE));
  const tail = response.slice(response.length - Math.floor(maxChars * (1 - HEAD_SHARE)));
  return { level: 3, text: `${head}${GAP}${tail}`.toWellFormed() };
}
