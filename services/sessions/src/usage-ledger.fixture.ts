import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { EventPayload } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import { principal, tempDir, type TestService } from '@switchyard/testkit';
import { testSessions } from './sessions.fixture.ts';

const CLIENTS = 20;
const PARALLEL = 16;
const OPEN_CALLS_MS = 60_000;
const TIMING = { sweepMs: 200, pollMs: 200 };

/** What the model double did. */
interface Ledger {
  requests: number;
  /** Answers that were sent to their end with a usage. */
  answered: { calls: number; input: number; output: number };
}

/** A model that answers by the message: with tokens, without usage, with an error, in parts, or never. */
interface LedgerModel extends AsyncDisposable {
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

async function startLedgerModel(): Promise<LedgerModel> {
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

/** The recorded usage of all lives. An event that is sent again counts once. */
class Records {
  readonly turns = new Map<string, EventPayload<'turn:ended'>>();
  readonly spent = new Map<string, EventPayload<'usage:recorded'>>();

  follow(app: TestService): () => void {
    let isDead = false;
    app.host.bus.on('turn:ended', ({ payload }) => void (isDead || this.turns.set(payload.turnId, payload)));
    app.host.bus.on('usage:recorded', ({ payload }) => void (isDead || this.spent.set(payload.id, payload)));
    return () => void (isDead = true);
  }

  sum() {
    const all = [...this.turns.values(), ...this.spent.values()].map(({ usage }) => usage);
    const add = (field: 'calls' | 'unknownCalls' | 'input' | 'output'): number => all.reduce((sum, usage) => sum + usage[field], 0);
    return { calls: add('calls'), unknownCalls: add('unknownCalls'), input: add('input'), output: add('output') };
  }
}

export interface LedgerRun {
  turns: number;
  completions: number;
  /** Processes that are killed during their model calls. */
  kills: number;
}

/**
 * Runs durable and stateless turns, kills the process, and compares the recorded usage with the ledger of the model: the tokens of all
 * answers with a usage are equal, and no other call is missing.
 */
export async function compareWithLedger({ turns, completions, kills }: LedgerRun): Promise<void> {
  await using directory = await tempDir();
  await using model = await startLedgerModel();
  const records = new Records();
  const lives = kills + 1;
  const accepted = new Set<string>();
  for (let life = 0; life < lives; life += 1) {
    const data = join(directory.path, `life-${life}`);
    const app = await startLife(data, model.url);
    const die = records.follow(app);
    const share = (total: number): number => Math.floor(total / lives);
    await inParallel(share(completions), (n) => complete(app, model, n));
    if (life < kills) model.holdAfter(share(turns) / 2);
    for (let n = 0; n < share(turns); n += 1) accepted.add(await startTurn(app, n));
    if (life < kills) {
      await waitForOpenCalls(model, () => Math.min(PARALLEL, accepted.size - records.turns.size));
      await app.host.bus.flush();
      cpSync(data, join(directory.path, `life-${life + 1}`), { recursive: true });
      die();
    } else while (records.turns.size < accepted.size) await nextTick();
    model.drop();
    await app[Symbol.asyncDispose]();
  }
  assert.deepEqual(new Set(records.turns.keys()), accepted);
  const { calls, unknownCalls, input, output } = records.sum();
  const { requests, answered } = model.ledger;
  assert.deepEqual({ calls: calls - unknownCalls, input, output }, answered);
  assert.equal(unknownCalls, requests - answered.calls);
}

function startLife(data: string, url: string): Promise<TestService> {
  const entries = { local: { type: 'openai-compatible' as const, baseUrl: url, models: [{ id: 'm' }] } };
  const agent = { provider: 'local', model: 'm', concurrency: { maxConcurrentRuns: PARALLEL }, sdkRetry: { maxRetries: 0 } };
  return testSessions({
    data,
    timing: TIMING,
    settings: { providers: { entries }, queue: { maxConcurrentSessions: PARALLEL } },
    agents: { default: agent },
  });
}

async function startTurn(app: TestService, n: number): Promise<string> {
  const turnId = mintId('turn');
  const message = ['hello', 'hello', 'refuse', 'silent', 'hello'][n % 5] ?? 'hello';
  const bus = app.host.bus.as(principal({ client: `client-${n % CLIENTS}`, scopes: ['*'] }));
  await bus.call('turns.start', { turnId, message, session: { channelId: `channel-${n}` } });
  return turnId;
}

/** One call of /v1: complete or streamed, refused, cut, without usage, or left by its client. */
async function complete(app: TestService, model: LedgerModel, n: number): Promise<void> {
  const message = ['hello', 'refuse', 'silent', 'cut', 'never', 'hello'][n % 6] ?? 'hello';
  const turnId = mintId('turn');
  const request = { turnId, model: 'default', message: `${message} ${turnId}` };
  const client = new AbortController();
  if (message === 'never') {
    const call = app.bus.call('turns.complete', request, { signal: client.signal });
    while (!model.holds(turnId)) await nextTick();
    client.abort();
    await assert.rejects(call);
    return;
  }
  if (n % 2 === 0) await app.bus.call('turns.complete', request).catch(() => undefined);
  else
    try {
      for await (const _frame of app.bus.stream('turns.run', request)) continue;
    } catch {
      // A refused call ends its stream with an error.
    }
}

/** Resolves when each turn that has not ended waits for an answer of the model, so that the process is killed during exactly these calls. */
async function waitForOpenCalls(model: LedgerModel, count: () => number): Promise<void> {
  const deadline = performance.now() + OPEN_CALLS_MS;
  while (model.held !== count()) {
    if (performance.now() > deadline) assert.fail(`${model.held} of ${count()} turns wait for the model`);
    await nextTick();
  }
}

async function inParallel(count: number, work: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: PARALLEL }, async () => {
      while (next < count) await work(next++);
    }),
  );
}

function nextTick(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1));
}
