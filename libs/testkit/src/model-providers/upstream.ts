import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { UpstreamBehaviour, UpstreamCall, UpstreamUsage } from './upstream-behaviour.ts';
import { answerWhole, getArguments, wireUsage, words } from './non-streaming-upstream.ts';

/** A received request. */
export interface UpstreamRequest {
  path: string;
  headers: IncomingHttpHeaders;
  body: { model?: string; messages?: unknown[]; stream?: boolean; tools?: unknown[]; [key: string]: unknown };
}

/** A server with the chat-completions protocol, streaming or not, that can also simulate failures. */
export interface Upstream extends AsyncDisposable {
  /** `baseUrl` for a provider entry. */
  readonly url: string;
  readonly requests: readonly UpstreamRequest[];
  /** Sets the behaviours of the next requests; the last one is repeated. Without any, the server sends a short text. */
  respond(...script: UpstreamBehaviour[]): void;
  /** Resolves after the first request. */
  readonly firstRequest: Promise<void>;
  /** Resolves when the client closes a connection before the response is complete. */
  readonly abandoned: Promise<void>;
}

const ID = 'chatcmpl-upstream';
const DEFAULT: UpstreamBehaviour = { kind: 'text', text: 'Hello from upstream.' };

export async function startUpstream(...initial: UpstreamBehaviour[]): Promise<Upstream> {
  let script = initial;
  const requests: UpstreamRequest[] = [];
  const asked = Promise.withResolvers<void>();
  const abandoned = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    response.on('close', () => {
      if (!response.writableEnded) abandoned.resolve();
    });
    receive(request)
      .then((body) => {
        requests.push({ path: request.url ?? '', headers: request.headers, body });
        asked.resolve();
        const behaviour = (script.length > 1 ? script.shift() : script[0]) ?? DEFAULT;
        return answer(response, behaviour, body);
      })
      .catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    firstRequest: asked.promise,
    abandoned: abandoned.promise,
    respond: (...next) => {
      script = next;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => {
        server.close(() => {
          resolve();
        });
      });
    },
  };
}

async function receive(request: IncomingMessage): Promise<UpstreamRequest['body']> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += String(chunk);
  return JSON.parse(text) as UpstreamRequest['body'];
}

async function answer(response: ServerResponse, behaviour: UpstreamBehaviour, body: UpstreamRequest['body']): Promise<void> {
  const { model = 'unknown', stream = false } = body;
  if (isPlain(behaviour)) return plainAnswer(response, behaviour, model);
  if (!stream) return answerWhole(response, behaviour, { id: ID, model });
  const events = createEvents(response, model);
  switch (behaviour.kind) {
    case 'text':
      events.text(behaviour.text);
      return events.finish(behaviour.finish ?? 'stop', behaviour.usage ?? { prompt: 3, completion: words(behaviour.text).length });
    case 'tools':
      events.fields(behaviour.fields ?? {});
      events.text(behaviour.text ?? '');
      events.calls(behaviour.calls);
      return events.finish(behaviour.finish ?? 'tool_calls', { prompt: 3, completion: behaviour.calls.length });
    case 'stall':
      return events.text(
        words(behaviour.text ?? '')
          .slice(0, behaviour.afterTokens ?? 0)
          .join(''),
      );
    case 'cut':
      events.text(words(behaviour.text).slice(0, behaviour.afterTokens).join(''));
      return events.destroy();
    case 'unfinished':
      events.text(behaviour.text);
      return events.end();
    case 'half-call':
      events.calls([behaviour]);
      return behaviour.end === 'cut' ? events.destroy() : events.end();
    case 'frame-error':
      events.text(behaviour.text ?? '');
      events.send(JSON.stringify({ error: behaviour.error }));
      return events.end();
    case 'garbage':
      events.send('{"choices": [{"delta": oops');
      return events.end();
  }
}

const PLAIN = ['status', 'json', 'redirect', 'answer'] as const;
type Plain = Extract<UpstreamBehaviour, { kind: (typeof PLAIN)[number] }>;

function isPlain(behaviour: UpstreamBehaviour): behaviour is Plain {
  return (PLAIN as readonly string[]).includes(behaviour.kind);
}

function plainAnswer(response: ServerResponse, behaviour: Plain, model: string): void {
  if (behaviour.kind === 'status') return refuse(response, behaviour);
  if (behaviour.kind === 'redirect') {
    response.writeHead(307, { location: behaviour.to }).end();
    return;
  }
  if (behaviour.kind === 'answer') {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(behaviour.body));
    return;
  }
  const choice = { index: 0, message: { role: 'assistant', content: behaviour.text }, finish_reason: 'stop' };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ id: ID, model, choices: [choice] }));
}

function refuse(response: ServerResponse, { status, message, headers, code }: Extract<UpstreamBehaviour, { kind: 'status' }>): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ error: { message: message ?? `status ${status}`, type: 'error', param: null, code: code ?? null } }));
}

interface Events {
  send(data: string): void;
  /** Sends one frame per token. */
  text(text: string): void;
  /** Sends each field in two parts. */
  fields(fields: Readonly<Record<string, string>>): void;
  calls(calls: readonly UpstreamCall[]): void;
  finish(reason: string, usage: UpstreamUsage | 'none'): void;
  end(): void;
  /** Destroys the connection after pending writes. */
  destroy(): void;
}

function createEvents(response: ServerResponse, model: string): Events {
  const send = (data: string): void => {
    if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    response.write(`data: ${data}\n\n`);
  };
  const chunk = (delta: object, finish_reason: string | null = null): void => {
    send(JSON.stringify({ id: ID, object: 'chat.completion.chunk', created: 1, model, choices: [{ index: 0, delta, finish_reason }] }));
  };
  return {
    send,
    text: (text) => {
      for (const content of words(text)) chunk({ content });
    },
    fields: (fields) => {
      for (const [name, text] of Object.entries(fields)) {
        chunk({ [name]: text.slice(0, 3) });
        chunk({ [name]: text.slice(3) });
      }
    },
    calls: (calls) => {
      for (const [index, call] of calls.entries()) {
        const text = getArguments(call);
        const half = Math.ceil(text.length / 2);
        chunk({
          tool_calls: [
            {
              ...call.fields,
              index,
              id: `call_up_${index}`,
              type: 'function',
              function: { name: call.name, arguments: text.slice(0, half) },
            },
          ],
        });
        chunk({ tool_calls: [{ index, function: { arguments: text.slice(half) } }] });
      }
    },
    finish: (reason, usage) => {
      chunk({}, reason);
      if (usage !== 'none')
        send(JSON.stringify({ id: ID, object: 'chat.completion.chunk', created: 1, model, choices: [], usage: wireUsage(usage) }));
      response.end('data: [DONE]\n\n');
    },
    end: () => {
      response.end();
    },
    destroy: () => {
      response.write('\n', () => response.destroy());
    },
  };
}
