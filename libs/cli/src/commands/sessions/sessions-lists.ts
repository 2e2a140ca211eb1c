import { getChoice, getNumber, getText } from '../../arguments/flags.ts';
import type { CallParams, CallResult } from '@switchyard/client';
import type { CommandContext } from '../../arguments/command-group.ts';
import { print, printAs, remark, table } from '../../output/output.ts';
import { minute } from '../../output/times.ts';

const PAGE_SIZE = 1_000;
const KINDS = ['all', 'sub-agent', 'group', 'dm'] as const;

export async function listSessions({ call, flags, output }: CommandContext): Promise<void> {
  const request = {
    ...getText(flags, 'label', 'label'),
    ...getChoice(flags, 'kind', { name: 'kind', of: KINDS }),
    ...getNumber(flags, 'since', 'since_minutes'),
  };
  const { sessions, total } = await readSessions(call, request, getNumber(flags, 'limit', 'limit').limit);
  if (output !== 'table') return printAs(output, { sessions, total });
  if (sessions.length === 0) return remark('No session matches.');
  const lines = sessions.map(({ sessionKey, updatedAt, agentId, kind = '', messageCount, totalTokens, label = '' }) => [
    sessionKey,
    minute(updatedAt),
    agentId,
    kind,
    String(messageCount),
    totalTokens === undefined ? '' : String(totalTokens),
    label,
  ]);
  print(table(['SESSION', 'USED', 'AGENT', 'KIND', 'MESSAGES', 'TOKENS', 'LABEL'], lines));
  if (total > sessions.length) remark(`the newest ${sessions.length} of ${total}; --limit shows more`);
}

/** Reads as many pages as the limit needs; without a limit, one page. */
async function readSessions(
  call: CommandContext['call'],
  request: CallParams<'session.list'>,
  limit = PAGE_SIZE,
): Promise<{ sessions: CallResult<'session.list'>['sessions']; total: number }> {
  const first = await call('session.list', { ...request, limit: Math.min(limit, PAGE_SIZE) });
  const { sessions } = first;
  let { cursor } = first;
  while (cursor !== undefined && sessions.length < limit) {
    const page = await call('session.list', { ...request, cursor, limit: Math.min(limit - sessions.length, PAGE_SIZE) });
    sessions.push(...page.sessions);
    ({ cursor } = page);
  }
  return { sessions, total: first.total ?? sessions.length };
}

export async function searchSessions({ call, flags, output }: CommandContext, ...words: string[]): Promise<void> {
  const found = await call('session.search', { query: words.join(' '), ...getNumber(flags, 'limit', 'limit') });
  if (output !== 'table') return printAs(output, found);
  if (found.length === 0) return remark('No message matches.');
  const lines = found.map(({ sessionKey, timestamp, agentId, score, snippet }) => [
    sessionKey,
    minute(timestamp),
    agentId,
    score.toFixed(2),
    snippet,
  ]);
  print(table(['SESSION', 'SAID', 'AGENT', 'SCORE', 'WHERE'], lines));
}
