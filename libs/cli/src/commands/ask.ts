import { text } from 'node:stream/consumers';
import type { ChatEvent, Client } from '@switchyard/client';
import { EXIT, type Command, type Invocation } from '../arguments/command.ts';
import { connect } from '../server/server-location.ts';
import { wrongUsage } from '../output/failure.ts';
import { commandHelp } from '../arguments/command-help.ts';
import { print, printAs, remark } from '../output/output.ts';
import { quote, self } from '../server/installation.ts';

/** Maximum length of a message in a URL; proxies accept 8 KB. Longer messages are sent by an RPC call and not streamed. */
const MAX_IN_URL = 6_000;

/** A response. The server may add the turn and its session. */
type Answer = Omit<Extract<ChatEvent, { type: 'done' }>, 'type'> & { turnId?: string; sessionKey?: string | undefined };

interface Question {
  message: string;
  agentId?: string;
  sessionKey?: string;
}

const FLAGS: readonly [string, string][] = [
  ['--agent <id>', 'agent id; default: the default agent'],
  ['--session <key>', 'session key, or any name for a channel of your own; default: your default session'],
];

export const ask: Command = {
  flags: ['agent', 'session'],
  help: () =>
    commandHelp(
      'ask "<message>" [--agent <id>] [--session <key>]',
      'Sends a message to an agent and streams the answer. With - the message is read from standard input.',
      { flags: FLAGS, examples: ['ask "hello"', 'ask --session notes "what did I say before?"', 'ask - <letter.txt'] },
    ),
  run: runAsk,
};

async function runAsk({ flags, words, output, where }: Invocation): Promise<number> {
  const question: Question = {
    message: await readMessage(words),
    ...(flags['agent'] === undefined ? {} : { agentId: flags['agent'] }),
    ...(flags['session'] === undefined ? {} : { sessionKey: flags['session'] }),
  };
  const client = await connect(where());
  const leaving = new AbortController();
  const leave = (): void => leaving.abort();
  process.once('SIGINT', leave);
  const started = performance.now();
  let firstTokenMs: number | undefined;
  let written = '';
  try {
    const printDelta = (delta: string): void => {
      firstTokenMs ??= Math.round(performance.now() - started);
      if (output === 'table') print(delta);
      written += delta;
    };
    const resumed = (accumulated: string): void => {
      if (accumulated.startsWith(written)) return printDelta(accumulated.slice(written.length));
      if (output === 'table') print('\n'); // the printed text stays; the response starts again on a new line
      written = '';
      printDelta(accumulated);
    };
    const answer = await readAnswer(client, question, { signal: leaving.signal, onDelta: printDelta, resumed });
    if (output !== 'table') printAs(output, { ...answer, ...(firstTokenMs === undefined ? {} : { firstTokenMs }) });
    else finish(answer, { written, firstTokenMs, session: flags['session'] });
    return EXIT.done;
  } catch (error) {
    if (output === 'table' && written !== '') print('\n');
    if (!leaving.signal.aborted) throw error;
    remark(
      `Stopped reading. The turn continues; read its answer with: ${self()} rpc session.history ${address(flags['session'])} Cancel it with: ${self()} cancel${same(flags)}`,
    );
    return EXIT.interrupted;
  } finally {
    process.off('SIGINT', leave);
    client.close();
  }
}

/** Renders the flags that select the same session. */
function same(flags: Invocation['flags']): string {
  return ['agent', 'session'].flatMap((name) => (flags[name] === undefined ? [] : ` --${name} ${quote(flags[name])}`)).join('');
}

async function readMessage(words: readonly string[]): Promise<string> {
  const fromInput = words.length === 1 && words[0] === '-';
  const message = fromInput ? (await text(process.stdin)).trimEnd() : words.join(' ');
  if (message.trim() !== '') return message;
  throw wrongUsage(fromInput ? 'Standard input contains no message.' : 'ask needs a message.', `${self()} ask "hello"`);
}

interface Reading {
  signal: AbortSignal;
  onDelta: (delta: string) => void;
  /** Another process continues the turn: replaces the text received so far. */
  resumed: (accumulated: string) => void;
}

async function readAnswer(client: Client, question: Question, { signal, onDelta, resumed }: Reading): Promise<Answer> {
  const { message, ...rest } = question;
  if (encodeURIComponent(message).length > MAX_IN_URL) return askWhole(client, question, signal);
  for await (const event of client.chat(message, { ...rest, signal })) {
    if (event.type === 'token') {
      onDelta(event.delta);
      continue;
    }
    if (event.type === 'resumed') {
      resumed(event.accumulated);
      continue;
    }
    const { type: _, ...answer } = event;
    return answer;
  }
  throw new Error('the stream ended before its final event');
}

async function askWhole(client: Client, { message, agentId, sessionKey }: Question, signal: AbortSignal): Promise<Answer> {
  const agent = agentId === undefined ? {} : { agentId };
  if (sessionKey?.includes(':')) return client.call('session.send', { key: sessionKey, message, ...agent }, { signal });
  const session = sessionKey === undefined ? {} : { sessionKey: { channelId: sessionKey } };
  return client.call('agent.execute', { message, ...agent, ...session }, { signal });
}

interface PrintedAnswer {
  written: string;
  firstTokenMs: number | undefined;
  session: string | undefined;
}

/** Prints the rest of the response, and a line with facts about the turn on standard error. */
function finish(
  { response, tokensUsed, finishReason, turnId, sessionKey }: Answer,
  { written, firstTokenMs, session }: PrintedAnswer,
): void {
  const rest = response.startsWith(written) ? response.slice(written.length) : '';
  print(response.endsWith('\n') ? rest : `${rest}\n`);
  const facts = [
    `session ${sessionKey ?? session ?? 'default'}`,
    `${tokensUsed.input} in / ${tokensUsed.output} out`,
    finishReason,
    ...(firstTokenMs === undefined ? [] : [`first token ${firstTokenMs} ms`]),
    ...(turnId === undefined ? [] : [turnId]),
  ];
  remark(`  ${facts.join(' · ')}`);
}

/** Renders the session parameter of `session.history`. */
function address(session = 'gateway'): string {
  return `${session.includes(':') ? 'session_key' : 'channelId'}=${quote(session)}`;
}
