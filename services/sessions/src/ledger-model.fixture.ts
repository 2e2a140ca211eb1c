import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The requests that the model double received, and the answers that it completed. */
interface Ledger {
  requests: number;
  /** Answers that were sent to their end with a usage. */
  answered: { calls: number; input: number; output: number };
}

/** A model that answers by the message: with tokens, without usage, with an error, in parts, or never. */
export interface LedgerModel extends AsyncDisposable {
  readonly url: string;
  readonly ledger: Readonly<Ledger>;
  /** Requests whose answer is held back. */
  readonly held: number;
  /** Whether a held request has this text. */
  holds(text: string): boolean;
  /** Holds back all answers after some more, so that a process can be killed during its calls. */
  holdAfter(requests: number): void;
  /** Drops the held connections, as the end of their process does, and answers again. */
  drop(): void;
}

export async function startLedgerModel(): Promise<LedgerModel> {
  const ledger: Ledger = { requests: 0, answered: { calls: 0, input: 0, output: 0 } };
  const held = new Map<ServerResponse, string>();
  let holdFrom = Infinity;

  function answer(response: ServerResponse, message: string): void {
    if (ledger.requests > holdFrom || message.includes('never')) {
      held.set(response, message);
      response.on('close', () => held.delete(response));
      return;
    }
    if (message.includes('refuse')) return void response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{}}');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const send = (chunk: object): void => void response.write(`data: ${JSON.stringify({ id: 'c', ...chunk })}\n\n`);
    send({ choices: [{ index: 0, delta: { content: 'text' } }] });
    if (message.includes('cut')) return void response.destroy();
    send({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
    if (!message.includes('silent')) {
      const [input, output] = [1 + (ledger.requests % 97), 1 + (ledger.requests % 13)];
      send({ choices: [], usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output } });
      ledger.answered.calls += 1;
      ledger.answered.input += input;
      ledger.answered.output += output;
    }
    response.end('data: [DONE]\n\n');
  }

  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      ledger.requests += 1;
      answer(response, JSON.stringify((JSON.parse(body) as { messages: unknown[] }).messages.at(-1)));
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    ledger,
    get held() {
      return held.size;
    },
    holds: (text) => [...held.values()].some((message) => message.includes(text)),
    holdAfter: (requests) => void (holdFrom = ledger.requests + requests),
    drop() {
      holdFrom = Infinity;
      for (const response of held.keys()) response.destroy();
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}
