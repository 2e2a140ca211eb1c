import { chatUrl, openai, rest, getText } from './clients.ts';
import type { Running } from './embedded.ts';
import { one, openExchange, request, type Answer, type Transport } from './exchange.ts';
import { isNamed, listen } from './listening.ts';

/** The outcome on a surface: an answer, or an error in its form, with the text before it. */
export interface Outcome {
  response?: string;
  failure?: unknown;
  written?: string;
}

export interface Question {
  message: string;
  agent: string;
}

/** Runs a turn through a surface with its usual client. */
export type Surface = (product: Running, question: Question) => Promise<Outcome>;

function throughRpc(transport: Transport): Surface {
  return async (product, { message, agent }) => {
    await using client = await openExchange(transport, product);
    const { result, error } = one(
      await client.say(request('agent.execute', { message, agentId: agent, sessionKey: { channelId: transport } })),
    );
    return error ? { failure: error } : { response: (result as { response: string }).response };
  };
}

async function throughChat(product: Running, { message, agent }: Question): Promise<Outcome> {
  const { status, body } = await rest(product, '/api/chat', { message, agentId: agent, sessionKey: 'posted' });
  return status === 200 ? { response: String(body['response']) } : { failure: { status, ...body } };
}

async function throughStream(product: Running, { message, agent }: Question): Promise<Outcome> {
  using stream = listen(chatUrl(product, { message, agentId: agent, sessionKey: 'streamed' }));
  const { name, data } = await stream.until(isNamed('done', 'error'));
  return name === 'done' ? { response: String(data['response']) } : { failure: data, written: getText(stream.receivedMessages) };
}

async function throughCompletions(product: Running, { message, agent }: Question): Promise<Outcome> {
  try {
    const { choices } = await openai(product).chat.completions.create({ model: agent, messages: [{ role: 'user', content: message }] });
    return { response: choices[0]?.message.content ?? '' };
  } catch (failure) {
    return { failure };
  }
}

async function throughChunks(product: Running, { message, agent }: Question): Promise<Outcome> {
  let written = '';
  try {
    const messages = [{ role: 'user' as const, content: message }];
    const stream = await openai(product).chat.completions.create({ model: agent, messages, stream: true });
    for await (const { choices } of stream) written += choices[0]?.delta.content ?? '';
    return { response: written };
  } catch (failure) {
    return { failure, written };
  }
}

async function throughResponses(product: Running, { message, agent }: Question): Promise<Outcome> {
  try {
    return { response: (await openai(product).responses.create({ model: agent, input: message })).output_text };
  } catch (failure) {
    return { failure };
  }
}

async function throughResponseEvents(product: Running, { message, agent }: Question): Promise<Outcome> {
  let written = '';
  try {
    for await (const event of await openai(product).responses.create({ model: agent, input: message, stream: true })) {
      if (event.type === 'response.output_text.delta') written += event.delta;
      if (event.type === 'response.failed') return { failure: event.response.error, written };
    }
    return { response: written };
  } catch (failure) {
    return { failure, written };
  }
}

export const surfaces = {
  rpc: throughRpc('http'),
  ws: throughRpc('ws'),
  chat: throughChat,
  sse: throughStream,
  v1: throughCompletions,
  'v1 streamed': throughChunks,
  responses: throughResponses,
  'responses streamed': throughResponseEvents,
} satisfies Record<string, Surface>;

export type SurfaceName = keyof typeof surfaces;
export const surfaceNames = Object.keys(surfaces) as SurfaceName[];

export type RpcFailure = NonNullable<Answer['error']>;
