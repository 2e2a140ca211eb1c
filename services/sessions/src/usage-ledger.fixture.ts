import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import type { EventPayload } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import { principal, tempDir, type TestService } from '@switchyard/testkit';
import { startLedgerModel, type LedgerModel } from './ledger-model.fixture.ts';
import { testSessions } from './sessions.fixture.ts';

const CLIENTS = 20;
const PARALLEL = 16;
const OPEN_CALLS_MS = 60_000;
const TIMING = { sweepMs: 200, pollMs: 200 };

/** The recorded usage of all lives. An event that is sent again counts once. */
class Records {
  readonly turns = new Map<string, EventPayload<'turn:ended'>>();
  readonly spent = new Map<string, EventPayload<'usage:recorded'>['records'][number]>();

  /**
   * Returns a function that ends the life. Turns that ended before count, although their events may be delivered later: the event log
   * keeps published events. Turns that end later belong to the next life.
   */
  follow(app: TestService): () => void {
    let diedAt = Infinity;
    app.host.bus.on('turn:ended', ({ payload }) => void (payload.finishedAt > diedAt || this.turns.set(payload.turnId, payload)));
    app.host.bus.on('usage:recorded', ({ payload }) => {
      for (const record of payload.records) if (record.finishedAt <= diedAt) this.spent.set(record.id, record);
    });
    return () => void (diedAt = Date.now());
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
      die();
      cpSync(data, join(directory.path, `life-${life + 1}`), { recursive: true });
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
