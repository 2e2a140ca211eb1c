import { getChoice, getNumber, getText } from '../../arguments/flags.ts';
import type { CommandContext } from '../../arguments/command-group.ts';
import { print, printAs, remark, table } from '../../output/output.ts';
import { minute } from '../../output/times.ts';

const KINDS = ['all', 'sub-agent', 'group', 'dm'] as const;

export async function listSessions({ call, flags, output }: CommandContext): Promise<void> {
  const request = {
    ...getText(flags, 'label', 'label'),
    ...getChoice(flags, 'kind', { name: 'kind', of: KINDS }),
    ...getNumber(flags, 'since', 'since_minutes'),
  };
  const answer = await call('session.list', request);
  const { sessions, total = sessions.length } = answer;
  if (output !== 'table') return printAs(output, answer);
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
  if (total > sessions.length) remark(`the newest ${sessions.length} of ${total}`);
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
