import type { CallResult } from '@switchyard/client';
import { drawTree, type Tree } from './conversation-tree.ts';
import { numberOf } from '../../arguments/flags.ts';
import type { Given } from '../../arguments/command-group.ts';
import { describeTurn } from './turn-trace.ts';
import { fitted, paint, print, printAs, remark, rows, table } from '../../output/output.ts';
import { quote, self } from '../../server/installation.ts';
import { minute, second } from '../../output/times.ts';

type Exported = CallResult<'session.export'>;

const SHOWN = 20;

export async function showSession({ call, flags, output }: Given, key: string): Promise<void> {
  const { last = SHOWN } = numberOf(flags, 'last', 'last');
  const [session, tree] = await Promise.all([call('session.export', { session_key: key }), call('context.tree', { conversation_id: key })]);
  if (output !== 'table') return printAs(output, { session, tree });
  print(`${rows(described(session))}\n`);
  if (tree.nodes.length > 0) print(`${drawn(tree)}\n`);
  const shown = last === 0 ? [] : session.messages.slice(-last);
  for (const message of shown) printMessage(message);
  const before = session.messages.length - shown.length;
  if (before > 0) remark(`${before} messages before these: ${self()} sessions show ${quote(key)} --last ${session.messages.length}`);
}

export async function showTree({ call, output }: Given, key: string): Promise<void> {
  const tree = await call('context.tree', { conversation_id: key });
  if (output !== 'table') printAs(output, tree);
  else print(`${tree.conversationId}\n${drawn(tree)}`);
}

const TURNS = 5;

/** Shows the current model context of a session and the inputs of its last turns. Without a key, lists conversations. */
export async function showContext(given: Given, key?: string): Promise<void> {
  if (key === undefined) return listConversations(given);
  const { call, flags, output } = given;
  const { turns = TURNS } = numberOf(flags, 'limit', 'turns');
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

async function listConversations({ call, flags, output }: Given): Promise<void> {
  const answer = await call('context.conversations', { ...numberOf(flags, 'limit', 'limit'), ...numberOf(flags, 'offset', 'offset') });
  if (output !== 'table') return printAs(output, answer);
  const { conversations, total } = answer;
  if (conversations.length === 0) return remark('There is no such conversation.');
  const lines = conversations.map((one) => [
    one.conversation_id,
    minute(one.updated_at),
    one.agent_id,
    String(one.message_count),
    one.session_key,
  ]);
  print(table(['CONVERSATION', 'USED', 'AGENT', 'MESSAGES', 'SESSION'], lines));
  const next = Number(flags['offset'] ?? 0) + conversations.length;
  if (next < total) remark(`${next} of ${total}; the next: ${self()} sessions context --offset ${next}`);
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
