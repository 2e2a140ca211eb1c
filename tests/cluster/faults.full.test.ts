import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunningProcess } from '@switchyard/contracts';
import { startProduct, type Running } from '../e2e/embedded.ts';
import { sendRequest, call, type Answer } from '../e2e/exchange.ts';
import { getProcesses, getProcess, replaced, SKIP, whoAnswers } from './processes.ts';

const POLL_MS = 50;
const WORKERS = 4;
const PAUSE_MS = 30_000;
/** A process without a heartbeat for this long counts as gone. */
const SILENT_MS = 10_000;
const PATIENCE_MS = 5_000;
/** Longer than a call waits for a paused database. */
const TOLD_MS = 15_000;
/** The metric of a gateway's calls in flight. */
const PENDING = /^switchyard_bus_pending\{[^}]*service="gateway"[^}]*\} (\d+)/m;
/** Allowed outcomes of a call while a server is unavailable. */
const AWAY = ['UNAVAILABLE', 'DEADLINE_EXCEEDED'];

describe('loss of a server of the cluster', { skip: SKIP, timeout: 500_000 }, () => {
  let product: Running;
  before(async () => void (product = await startProduct('cluster')));
  after(() => product[Symbol.asyncDispose]());

  /** Resolves when the gateways have this many calls in flight. */
  async function underWay(calls: number): Promise<void> {
    const gateways = (await getProcesses(product)).filter(({ service }) => service === 'gateway');
    for (let waiting = 0; waiting < calls; await sleep(POLL_MS)) {
      const texts = gateways.map(async ({ ports }) => (await fetch(`http://127.0.0.1:${ports['metrics']}/metrics`)).text());
      const counts = (await Promise.all(texts)).map((text) => (PENDING.exec(text) ?? assert.fail('no gauge of calls that wait'))[1]);
      waiting = counts.reduce((sum, count) => sum + Number(count), 0);
    }
  }

  test('a call fails within a third of its deadline when its service dies', async () => {
    const replicas = (await getProcesses(product)).filter(({ service }) => service === 'registry');
    for (const { pid } of replicas) process.kill(pid, 'SIGSTOP');
    const from = performance.now();
    const told = Promise.all([sendRequest(product, 'agents.list'), sendRequest(product, 'agents.create', { name: 'oslo' })]);
    await underWay(2); // a stopped process has received them
    for (const { pid } of replicas) process.kill(pid, 'SIGKILL');
    for (const { error } of await told) {
      assert.deepEqual([error?.data?.['code'], error?.data?.['reason']], ['UNAVAILABLE', 'CALL_SILENT'], JSON.stringify(error));
    }
    assert.ok(performance.now() - from < SILENT_MS + PATIENCE_MS);
    for (const replica of replicas) await replaced(product, replica);
  });

  test('the loss of Redis fails no call', async () => {
    const { pid } = await getServer('redis');
    process.kill(pid, 'SIGKILL');
    for (let turn = 0; turn < 10; turn++) assert.match(await sendMessage('hello'), /You said: hello/);
    await startedAgain('redis', pid);
  });

  test('every call ends with a result or UNAVAILABLE when NATS is lost, and the cluster recovers', async () => {
    await sendMessage('before');
    const all = (await whoAnswers(product))?.size ?? 0;
    assert.ok(all >= 8, 'every service answers twice');
    const { pid } = await getServer('nats');
    const under = Array.from({ length: 20 }, (_, at) =>
      sendRequest(product, 'agent.execute', { message: `under way ${at}`, sessionKey: { channelId: `nats-${at}` } }),
    );
    process.kill(pid, 'SIGKILL');
    for (const { result, error } of await Promise.all(under)) assert.ok(result !== undefined || isAway(error), JSON.stringify(error));
    await startedAgain('nats', pid);
    await worksAgain();
    // Replicas reconnect on their own, with jitter.
    while ((await whoAnswers(product))?.size !== all) await sleep(POLL_MS);
  });

  test('acknowledged writes survive the loss of the database, none is partial, and the cluster recovers', async () => {
    await sendMessage('before', 'kept');
    const { pid } = await getServer('mongodb');
    process.kill(pid, 'SIGSTOP');
    const pending = sendRequest(product, 'agent.execute', { message: 'meanwhile', sessionKey: { channelId: 'kept' } });
    // Turns accepted just before the pause wait until it ends; all other calls fail.
    await Promise.race([pending, sleep(TOLD_MS)]);
    process.kill(pid, 'SIGCONT');
    const { result, error } = await pending;
    assert.ok(result !== undefined || isAway(error), JSON.stringify(error));
    await worksAgain();
    const { messages } = await call<{ messages: { role: string; content: string }[] }>(product, 'session.history', { channelId: 'kept' });
    const [question, answer] = messages;
    assert.deepEqual([question?.content, answer?.role], ['before', 'assistant']);
    assertWhole(messages);
  });

  test('every call ends in time while the database is paused for half a minute, and no write is lost, doubled or partial', async (t) => {
    const { pid, replica } = await getServer('mongodb');
    t.diagnostic(`the database is ${replica}`);
    const load = startLoad(product);
    await load.answers(WORKERS * 2);
    process.kill(pid, 'SIGSTOP');
    const began = performance.now();
    try {
      await sleep(PAUSE_MS);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await worksAgain();
    await load.answers(WORKERS * 2);
    const { calls, channels } = await load.end();
    const failed = calls.filter(({ error }) => error !== undefined);
    assert.ok(failed.length > 0, 'the pause was felt');
    for (const { error, tookMs } of failed) assert.ok(isAway(error) && tookMs < PAUSE_MS, `${tookMs} ms: ${JSON.stringify(error)}`);
    t.diagnostic(
      `${failed.length} of ${calls.length} calls failed, the slowest after ${Math.max(...failed.map(({ tookMs }) => tookMs))} ms`,
    );
    assert.ok(calls.some(({ at, error }) => at > began + PAUSE_MS && error === undefined));
    for (const [channelId, answered] of channels) {
      const { messages } = await call<{ messages: { role: string; content: string }[] }>(product, 'session.history', {
        channelId,
      });
      const requests = messages.filter(({ role }) => role === 'user').map(({ content }) => content);
      assert.deepEqual(
        requests.filter((one) => answered.includes(one)),
        answered,
        'what was answered is there once, in its order',
      );
      assert.equal(new Set(requests).size, requests.length, 'and nothing twice');
      assertWhole(messages);
    }
  });

  test('a replica with rejected credentials logs the reason, restarts with growing delays, and recovers', async () => {
    const file = `${product.data}/cluster/redis/redis.conf`;
    const right = await readFile(file, 'utf8');
    const ofRedis = async (configuration: string): Promise<void> => {
      const { pid } = await getServer('redis');
      await writeFile(file, configuration);
      process.kill(pid, 'SIGKILL');
      await startedAgain('redis', pid);
    };
    await ofRedis(right.replace(/^requirepass .*$/m, 'requirepass another'));
    const gateway = await getProcess(product, 'gateway-1');
    process.kill(gateway.pid, 'SIGKILL');
    for (const ms of [500, 1000, 2000])
      await product.process.line(
        new RegExp(
          `gateway-1 \\(process \\d+\\) ended with code 1; restarting in ${ms} ms; last output: "gateway cannot start: SWITCHYARD_CACHE `,
        ),
      );
    assert.match(await sendMessage('the other gateway'), /You said/);
    await ofRedis(right);
    await replaced(product, gateway);
  });

  async function sendMessage(message: string, channelId = 'said'): Promise<string> {
    return (await call<{ response: string }>(product, 'agent.execute', { message, sessionKey: { channelId } })).response;
  }

  async function getServer(service: string): Promise<RunningProcess> {
    return (await getProcesses(product)).find((one) => one.service === service) ?? assert.fail(`there is no ${service}`);
  }

  async function startedAgain(service: string, before: number): Promise<void> {
    while ((await getServer(service)).pid === before) await sleep(POLL_MS);
  }

  /** Resolves when every gateway is ready and a turn succeeds. */
  async function worksAgain(): Promise<void> {
    for (;;) {
      const exists = (await whoAnswers(product)) !== undefined;
      if (exists && (await sendRequest(product, 'agent.execute', { message: 'again' })).result !== undefined) return;
      await sleep(POLL_MS);
    }
  }
});

/** Asserts that every question has its answer. */
function assertWhole(messages: readonly { role: string }[]): void {
  for (const [at, { role }] of messages.entries()) assert.equal(role, at % 2 === 0 ? 'user' : 'assistant', JSON.stringify(messages));
}

function isAway(error: Answer['error']): boolean {
  return AWAY.includes(String(error?.data?.['code']));
}

interface LoadCall {
  at: number;
  tookMs: number;
  error: Answer['error'];
}

/** Starts clients that send messages continuously, each in its own session, and ignore failures. */
function startLoad(product: Running) {
  const calls: LoadCall[] = [];
  const channels = new Map<string, string[]>();
  let ending = false;

  async function talk(channelId: string): Promise<void> {
    const answered: string[] = [];
    channels.set(channelId, answered);
    for (let n = 0; !ending; n++) {
      const message = `${channelId} says ${n}`;
      const at = performance.now();
      const { error, result } = await sendRequest(product, 'agent.execute', { message, sessionKey: { channelId } });
      calls.push({ at, tookMs: performance.now() - at, error });
      if (result !== undefined) answered.push(message);
      await sleep(POLL_MS);
    }
  }

  const talking = Promise.all(Array.from({ length: WORKERS }, (_, at) => talk(`load-${at}`)));
  return {
    /** Resolves after this number of further answers. */
    async answers(more: number): Promise<void> {
      const good = (): number => calls.filter(({ error }) => error === undefined).length;
      const enough = good() + more;
      while (good() < enough) await Promise.race([sleep(POLL_MS), talking]);
    },
    async end(): Promise<{ calls: LoadCall[]; channels: ReadonlyMap<string, string[]> }> {
      ending = true;
      await talking;
      return { calls, channels };
    },
  };
}
