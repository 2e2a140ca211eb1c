import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { readEvent, type MemoryHub } from '@switchyard/bus';
import { EVENTS_LOG, type EventPayload } from '@switchyard/contracts';
import { mintId } from '@switchyard/security';
import { createLossyHub, principal, tempDir, type TestService } from '@switchyard/testkit';
import { startLedgerModel, type LedgerModel } from './ledger-model.fixture.ts';
import { testSessions } from './sessions.fixture.ts';

const CLIENTS = 20;
const PARALLEL = 16;
const OPEN_CALLS_MS = 60_000;
const EVENTS_MS = 300_000;
const TIMING = { sweepMs: 200, pollMs: 200 };

/** The recorded usage of all lives, as the event log contains it. An event that is published again counts once. */
class Records {
  readonly turns = new Map<string, EventPayload<'turn:ended'>>();
  readonly spent = new Map<string, EventPayload<'usage:recorded'>['records'][number]>();
  #hub: MemoryHub | undefined;
  #nextSeq = 0;

  /** Begins a life with its own event log. */
  follow(hub: MemoryHub): void {
    this.#hub = hub;
    this.#nextSeq = 0;
  }

  /** Reads the events that the log has stored since the last call. */
  read(): void {
    for (const entry of this.#hub?.log(EVENTS_LOG).read('evt.>', this.#nextSeq) ?? []) {
      this.#nextSeq = entry.seq + 1;
      const { name, payload } = readEvent(entry) ?? {};
      if (name === 'turn:ended') {
        const turn = decode(payload) as EventPayload<'turn:ended'>;
        add(this.turns, turn.turnId, turn);
      } else if (name === 'usage:recorded') {
        const usage = decode(payload) as EventPayload<'usage:recorded'>;
        for (const record of usage.records) add(this.spent, record.id, record);
      }
    }
  }

  sum() {
    const all = [...this.turns.values(), ...this.spent.values()].map(({ usage }) => usage);
    const add = (field: 'calls' | 'unknownCalls' | 'input' | 'output'): number => all.reduce((sum, usage) => sum + usage[field], 0);
    return { calls: add('calls'), unknownCalls: add('unknownCalls'), input: add('input'), output: add('output') };
  }
}

function decode(payload: Uint8Array | undefined): unknown {
  return JSON.parse(Buffer.from(payload ?? []).toString());
}

/** An event that is published again has the same payload. */
function add<T>(events: Map<string, T>, id: string, event: T): void {
  const earlier = events.get(id);
  if (earlier === undefined) events.set(id, event);
  else assert.deepEqual(event, earlier);
}

export interface LedgerRun {
  turns: number;
  completions: number;
  /** Processes that are killed during their model calls. */
  kills: number;
  /** Probability that a message of the bus is lost. */
  loss?: number;
}

/**
 * Runs durable and stateless turns, kills the process, and compares the recorded usage with the ledger of the model: the tokens of all
 * answers with a usage are equal, and no other call is missing. A bus that loses messages delays events and changes none.
 */
export async function compareWithLedger({ turns, completions, kills, loss = 0 }: LedgerRun): Promise<void> {
  await using directory = await tempDir();
  await using model = await startLedgerModel();
  const records = new Records();
  const lives = kills + 1;
  const accepted = new Set<string>();
  for (let life = 0; life < lives; life += 1) {
    const data = join(directory.path, `life-${life}`);
    const hub = createLossyHub({ seed: life, loss });
    records.follow(hub);
    const app = await startLife(data, model.url, hub);
    const share = (total: number): number => Math.floor(total / lives);
    await inParallel(share(completions), (n) => complete(app, model, n));
    if (life < kills) model.holdAfter(share(turns) / 2);
    for (let n = 0; n < share(turns); n += 1) accepted.add(await startTurn(app, n));
    if (life < kills) {
      await waitForOpenCalls(model, () => {
        records.read();
        return Math.min(PARALLEL, accepted.size - records.turns.size);
      });
      cpSync(data, join(directory.path, `life-${life + 1}`), { recursive: true });
      // The log contains the events that were published before the kill. The next life publishes the others.
      records.read();
    } else await waitForEvents(records, () => records.turns.size === accepted.size && records.sum().calls >= model.ledger.requests);
    model.drop();
    await app[Symbol.asyncDispose]();
    for (const [kind, count] of Object.entries(hub.losses)) assert.equal(count > 0, loss > 0, `${count} lost ${kind}`);
  }
  assert.deepEqual(new Set(records.turns.keys()), accepted);
  const { calls, unknownCalls, input, output } = records.sum();
  const { requests, answered } = model.ledger;
  assert.deepEqual({ calls: calls - unknownCalls, input, output }, answered);
  assert.equal(unknownCalls, requests - answered.calls);
}

function startLife(data: string, url: string, hub: MemoryHub): Promise<TestService> {
  const entries = { local: { type: 'openai-compatible' as const, baseUrl: url, models: [{ id: 'm' }] } };
  const agent = { provider: 'local', model: 'm', concurrency: { maxConcurrentRuns: PARALLEL }, sdkRetry: { maxRetries: 0 } };
  return testSessions({
    data,
    hub,
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

/** Resolves when the log contains the expected events. */
async function waitForEvents(records: Records, areComplete: () => boolean): Promise<void> {
  const deadline = performance.now() + EVENTS_MS;
  for (records.read(); !areComplete(); records.read()) {
    if (performance.now() > deadline)
      assert.fail(`only ${records.turns.size} ends of turns and ${records.spent.size} usages were published`);
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
