import type { CallResult } from '@switchyard/client';
import { drawTree, type Tree } from './conversation-tree.ts';
import { getNumber } from '../../arguments/flags.ts';
import type { CommandContext } from '../../arguments/command-group.ts';
import { describeTurn } from './turn-trace.ts';
import { fitted, paint, print, printAs, remark, rows, table } from '../../output/output.ts';
import { quote, self } from '../../server/installation.ts';
import { minute, second } from '../../output/times.ts';

type Exported = CallResult<'session.export'>;

const DEFAULT_MESSAGES = 20;

export async function showSession({ call, flags, output }: CommandContext, key: string): Promise<void> {
  const { last = DEFAULT_MESSAGES } = getNumber(flags, 'last', 'last');
  const [session, tree] = await Promise.all([call('session.export', { session_key: key }), call('context.tree', { conversation_id: key })]);
  if (output !== 'table') return printAs(output, { session, tree });
  print(`${rows(described(session))}\n`);
  if (tree.nodes.length > 0) print(`${drawn(tree)}\n`);
  const shown = last === 0 ? [] : session.messages.slice(-last);
  for (const message of shown) printMessage(message);
  const before = session.messages.length - shown.length;
  if (before > 0) remark(`${before} earlier messages. Show more: ${self()} sessions show ${quote(key)} --last ${session.messages.length}`);
}

export async function showTree({ call, output }: CommandContext, key: string): Promise<void> {
  const tree = await call('context.tree', { conversation_id: key });
  if (output !== 'table') printAs(output, tree);
  else print(`${tree.conversationId}\n${drawn(tree)}`);
}

const TURNS = 5;

/** Shows the current model context of a session and the inputs of its last turns. Without a key, lists conversations. */
export async function showContext(options: CommandContext, key?: string): Promise<void> {
  if (key === undefined) return listConversations(options);
  const { call, flags, output } = options;
  const { turns = TURNS } = getNumber(flags, 'limit', 'turns');
  const tree = await call('context.tree', { conversation_id: key, turns });
  if (output !== 'table') return printAs(output, tree);
  print(`${tree.conversationId}\n${drawn(tree)}`);
  for (const turn of tree.turns?.toReversed() ?? [])
    print(
      `\n${describeTurn(turn)
        .map((line) => `${fitted(line)}\n`)
        .join('')}`,
    );
}

async function listConversations({ call, flags, output }: CommandContext): Promise<void> {
  const answer = await call('context.conversations', { ...getNumber(flags, 'limit', 'limit'), ...getNumber(flags, 'offset', 'offset') });
  if (output !== 'table') return printAs(output, answer);
  const { conversations, total } = answer;
  if (conversations.length === 0) return remark('No conversation matches.');
  const lines = conversations.map((one) => [
    one.conversation_id,
    minute(one.updated_at),
    one.agent_id,
    String(one.message_count),
    one.session_key,
  ]);
  print(table(['CONVERSATION', 'USED', 'AGENT', 'MESSAGES', 'SESSION'], lines));
  const next = Number(flags['offset'] ?? 0) + conversations.length;
  if (next < total) remark(`${next} of ${total}. Next page: ${self()} sessions context --offset ${next}`);
}

function drawn(tree: Tree): string {
  return drawTree(tree)
    .map((line) => `${fitted(line)}\n`)
    .join('');
}

function described({ sessionKey, messageCount, createdAt, updatedAt, metadata }: Exported): [string, string][] {
  const about: [string, string][] = [
    ['session', sessionKey],
    ['messages', String(messageCount)],
    ['begun', second(createdAt)],
    ['used', second(updatedAt)],
  ];
  return Object.keys(metadata).length === 0 ? about : [...about, ['metadata', JSON.stringify(metadata)]];
}

function printMessage({ role, content, timestamp }: Exported['messages'][number]): void {
  const head = timestamp === undefined ? role : `${role}  ${second(timestamp)}`;
  process.stdout.write(`${paint('bold', head, process.stdout)}\n`);
  print(`${content.replaceAll(/^(?=.)/gm, '  ')}\n\n`);
}
