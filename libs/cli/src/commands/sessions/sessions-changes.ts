import { confirm } from '../../arguments/confirmation.ts';
import { wrongUsage } from '../../output/failure.ts';
import type { Given } from '../../arguments/command-group.ts';
import { print, printAs, printJson, remark } from '../../output/output.ts';
import { quote, self } from '../../server/installation.ts';

export async function exportSession({ call }: Given, key: string): Promise<void> {
  printJson(await call('session.export', { session_key: key }));
}

/** Sets a label by sending the command `/label` to the session. */
export async function labelSession({ call, output }: Given, key: string, ...words: string[]): Promise<void> {
  const answer = await call('session.send', { key, message: ['/label', ...words].join(' ') });
  if (output !== 'table') return printAs(output, answer);
  print(`${answer.response}\n`);
}

export async function compactSession({ call, output }: Given, key: string): Promise<void> {
  const answer = await call('session.compact', { key });
  if (output !== 'table') return printAs(output, answer);
  const { sessionKey, compactionTriggered, estimatedTokens, tokensAfter = estimatedTokens } = answer;
  if (!compactionTriggered) return remark('There is nothing to make shorter: only the last turns are told word by word.');
  print(`${sessionKey}: about ${estimatedTokens} tokens are ${tokensAfter} now\n`);
}

export async function clearSession({ call, flags, output }: Given, key: string): Promise<void> {
  const memory = flags['memory'] !== undefined;
  const purge = flags['purge'] !== undefined;
  if (purge && !memory) throw wrongUsage('--purge counts only together with --memory.', `${self()} sessions reset --help`);
  const answer = await call('session.reset_conversation', { session_key: key, memory, ...(purge ? { purge_derived: true } : {}) });
  if (output !== 'table') return printAs(output, answer);
  const { sessionKey, sessionMessagesCleared, memoriesDeleted } = answer;
  print(`${sessionKey}: ${sessionMessagesCleared} messages cleared${remembered(memoriesDeleted)}\n`);
}

/** Deletes memories before the session, so that an interrupted command can be repeated while the session still exists. */
export async function forgetSession({ call, flags, output }: Given, key: string): Promise<void> {
  await confirm(`${key} is removed for good, with all that was said in it.`, flags, `${self()} sessions export ${quote(key)}`);
  const cleared = flags['memory'] === undefined ? undefined : await clearWithMemory(call, key);
  const { transcript, ...answer } = await call('session.delete', { session_key: key });
  const last = cleared?.transcript ?? transcript;
  if (output !== 'table') return printAs(output, { ...answer, ...cleared, transcript: last });
  print(`${answer.sessionKey}: forgotten, with ${last.messageCount} messages${remembered(cleared?.memoriesDeleted)}\n`);
}

/** Exports the messages before they are cleared, because the deletion returns only messages that still exist. */
async function clearWithMemory(call: Given['call'], key: string) {
  const { messages, metadata, messageCount } = await call('session.export', { session_key: key });
  const cleared = await call('session.reset_conversation', { session_key: key, memory: true });
  return { ...cleared, transcript: { messages, metadata, messageCount } };
}

function remembered(count: number | undefined): string {
  return count === undefined ? '' : `, ${count} memories forgotten`;
}
