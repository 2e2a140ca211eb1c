import assert from 'node:assert/strict';
import { chatUrl, openai } from './clients.ts';
import { command, type Running } from './embedded.ts';
import { one, openExchange, request, type Transport } from './exchange.ts';
import { isNamed, listen } from './listening.ts';

/** The agent of these conversations. Its model calls tools, and early messages are soon summarized. */
export const TALE = { model: 'dev/tools', contextEngine: { freshTailTurns: 1, leafMinFanout: 2, condensedMinFanout: 2 } };

/** The messages of a conversation. `word` occurs in this conversation only. */
export function script(word: string): string[] {
  return [
    `The ${word} nests in the old mill.`,
    `session.search {"query": "${word}"}`,
    '/reset',
    `A ${word} eats mice.`,
    'And what else?',
    `/label Of the ${word}`,
    '/compact',
  ];
}

/** The readable state of a conversation apart from the answers. */
export interface Told {
  answers: string[];
  found: { sessionKey: string; snippet: string }[];
  kept: { messages: { role: string; content: string }[] };
}

/** A client of one conversation. */
export interface Player {
  ask(message: string): Promise<string>;
  call(method: 'session.search' | 'session.export', params: Record<string, string>): Promise<unknown>;
}

export type Play = <T>(product: Running, channelId: string, played: (player: Player) => Promise<T>) => Promise<T>;

export function overRpc(transport: Transport): Play {
  return async (product, channelId, played) => {
    await using client = await openExchange(transport, product);
    const call = async (method: string, params: object): Promise<unknown> => {
      const { result, error } = one(await client.say(request(method, params)));
      assert.equal(error, undefined, method);
      return result;
    };
    const sendRequest = async (message: string): Promise<string> => {
      const answer = await call('agent.execute', { message, agentId: 'tale', sessionKey: { channelId } });
      return (answer as { response: string }).response;
    };
    return await played({ ask: sendRequest, call });
  };
}

/** Uses streams for turns and REST for everything else. */
export const overEvents: Play = (product, channelId, played) =>
  overRpc('http')(product, channelId, ({ call }) =>
    played({
      call,
      async ask(message) {
        using stream = listen(chatUrl(product, { message, agentId: 'tale', sessionKey: channelId }));
        const { name, data } = await stream.until(isNamed('done', 'error'));
        assert.equal(name, 'done', JSON.stringify(data));
        return String(data['response']);
      },
    }),
  );

export const byCommand: Play = (product, channelId, played) => {
  const run = async (...words: string[]): Promise<unknown> => {
    const { code, stdout, stderr } = await command(product, '--output', 'json', ...words);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
  return played({
    ask: async (message) => ((await run('ask', '--agent', 'tale', '--session', channelId, message)) as { response: string }).response,
    call: (method, params) => run('rpc', method, ...Object.entries(params).map(([name, value]) => `${name}=${value}`)),
  });
};

/** Stores the conversation itself. The server keeps no history, and commands are ordinary text. */
export async function completions(product: Running, messages: readonly string[]): Promise<string[]> {
  const client = openai(product);
  const texts: { role: 'user' | 'assistant'; content: string }[] = [];
  for (const content of messages) {
    texts.push({ role: 'user', content });
    const { choices } = await client.chat.completions.create({ model: 'tale', messages: texts });
    texts.push({ role: 'assistant', content: choices[0]?.message.content ?? '' });
  }
  return texts.filter(({ role }) => role === 'assistant').map(({ content }) => content);
}

/** Plays the conversation, then searches it and reads its history. */
export async function play(product: Running, how: Play, word: string): Promise<Told> {
  return how(product, `tale-${word}`, async (player) => {
    const answers: string[] = [];
    for (const message of script(word)) answers.push(await player.ask(message));
    const matches = (await player.call('session.search', { query: word })) as Told['found'];
    const key = `agent:tale:default:${product.client}:tale-${word}`;
    const kept = (await player.call('session.export', { session_key: key })) as Told['kept'];
    return { answers, found: matches, kept };
  });
}

/** Replaces the parts that differ per client: word, times, ids and counts. */
export function alike(told: Told, word: string): unknown {
  const text = JSON.stringify(told)
    .replaceAll(word, 'bird')
    .replaceAll(/\b1\d{12}\b/g, '0');
  return JSON.parse(text);
}
