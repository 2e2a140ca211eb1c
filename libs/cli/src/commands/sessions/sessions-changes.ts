import { confirm } from '../../arguments/confirmation.ts';
import { wrongUsage } from '../../output/failure.ts';
import type { CommandContext } from '../../arguments/command-group.ts';
import { print, printAs, printJson, remark } from '../../output/output.ts';
import { quote, self } from '../../server/installation.ts';

export async function exportSession({ call }: CommandContext, key: string): Promise<void> {
  printJson(await call('session.export', { session_key: key }));
}

/** Sets a label by sending the command `/label` to the session. */
export async function labelSession({ call, output }: CommandContext, key: string, ...words: string[]): Promise<void> {
  const answer = await call('session.send', { key, message: ['/label', ...words].join(' ') });
  if (output !== 'table') return printAs(output, answer);
  print(`${answer.response}\n`);
}

export async function compactSession({ call, output }: CommandContext, key: string): Promise<void> {
  const answer = await call('session.compact', { key });
  if (output !== 'table') return printAs(output, answer);
  const { sessionKey, compactionTriggered, estimatedTokens, tokensAfter = estimatedTokens } = answer;
  if (!compactionTriggered) return remark('Nothing to compact: only the most recent turns are not summarized.');
  print(`${sessionKey}: compacted from about ${estimatedTokens} to ${tokensAfter} tokens\n`);
}

export async function clearSession({ call, flags, output }: CommandContext, key: string): Promise<void> {
  const memory = flags['memory'] !== undefined;
  const purge = flags['purge'] !== undefined;
  if (purge && !memory) throw wrongUsage('--purge requires --memory.', `${self()} sessions reset --help`);
  const answer = await call('session.reset_conversation', { session_key: key, memory, ...(purge ? { purge_derived: true } : {}) });
  if (output !== 'table') return printAs(output, answer);
  const { sessionKey, sessionMessagesCleared, memoriesDeleted } = answer;
  print(`${sessionKey}: ${sessionMessagesCleared} messages cleared${formatDeletedMemories(memoriesDeleted)}\n`);
}

/** Deletes memories before the session, so that an interrupted command can be repeated while the session still exists. */
export async function forgetSession({ call, flags, output }: CommandContext, key: string): Promise<void> {
  await confirm(`This permanently deletes session ${key} with all its messages.`, flags, `${self()} sessions export ${quote(key)}`);
  const cleared = flags['memory'] === undefined ? undefined : await clearWithMemory(call, key);
  const { transcript, ...answer } = await call('session.delete', { session_key: key });
  const last = cleared?.transcript ?? transcript;
  if (output !== 'table') return printAs(output, { ...answer, ...cleared, transcript: last });
  print(`${answer.sessionKey}: forgotten, with ${last.messageCount} messages${formatDeletedMemories(cleared?.memoriesDeleted)}\n`);
}

/** Exports the messages before they are cleared, because the deletion returns only messages that still exist. */
async function clearWithMemory(call: CommandContext['call'], key: string) {
  const { messages, metadata, messageCount } = await call('session.export', { session_key: key });
  const cleared = await call('session.reset_conversation', { session_key: key, memory: true });
  return { ...cleared, transcript: { messages, metadata, messageCount } };
}

function formatDeletedMemories(count: number | undefined): string {
  return count === undefined ? '' : `, ${count} memories forgotten`;
}
