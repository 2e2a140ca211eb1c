import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunningProcess } from '@switchyard/contracts';
import { startProduct, type Running } from '../e2e/embedded.ts';
import { ask, call, type Answer } from '../e2e/exchange.ts';
import { processesOf, SKIP, whoAnswers } from './processes.ts';

const POLL_MS = 50;
/** What a call may end with while a server is away: said, and within its deadline. */
const AWAY = ['UNAVAILABLE', 'DEADLINE_EXCEEDED'];

describe('a server of the cluster that dies', { skip: SKIP, timeout: 300_000 }, () => {
  let product: Running;
  before(async () => void (product = await startProduct('cluster')));
  after(() => product[Symbol.asyncDispose]());

  test('Redis: nobody notices', async () => {
    const { pid } = await serverOf('redis');
    process.kill(pid, 'SIGKILL');
    for (let turn = 0; turn < 10; turn++) assert.match(await say('hello'), /You said: hello/);
    await startedAgain('redis', pid);
  });

  test('NATS in the middle of calls: each ends with an answer or says that nobody is there, and all is well by itself', async () => {
    await say('before');
    const { pid } = await serverOf('nats');
    const under = Array.from({ length: 20 }, (_, at) =>
      ask(product, 'agent.execute', { message: `under way ${at}`, sessionKey: { channelId: `nats-${at}` } }),
    );
    process.kill(pid, 'SIGKILL');
    for (const { result, error } of await Promise.all(under)) assert.ok(result !== undefined || isAway(error), JSON.stringify(error));
    await startedAgain('nats', pid);
    await worksAgain();
    assert.equal((await whoAnswers(product))?.size, 8);
  });

  test('the database: what was answered is kept, nothing is half written, and all is well by itself', async () => {
    await say('before', 'kept');
    const { pid } = await serverOf('mongodb');
    process.kill(pid, 'SIGSTOP');
    const { result, error } = await ask(product, 'agent.execute', { message: 'meanwhile', sessionKey: { channelId: 'kept' } });
    assert.ok(result === undefined && isAway(error), JSON.stringify(result ?? error));
    process.kill(pid, 'SIGCONT');
    await worksAgain();
    const { messages } = await call<{ messages: { role: string; content: string }[] }>(product, 'session.history', { channelId: 'kept' });
    const [question, answer] = messages;
    assert.deepEqual([question?.content, answer?.role], ['before', 'assistant']);
    for (const [at, { role }] of messages.entries()) assert.equal(role, at % 2 === 0 ? 'user' : 'assistant', JSON.stringify(messages));
  });

  async function say(message: string, channelId = 'said'): Promise<string> {
    return (await call<{ response: string }>(product, 'agent.execute', { message, sessionKey: { channelId } })).response;
  }

  async function serverOf(service: string): Promise<RunningProcess> {
    return (await processesOf(product)).find((one) => one.service === service) ?? assert.fail(`there is no ${service}`);
  }

  async function startedAgain(service: string, before: number): Promise<void> {
    while ((await serverOf(service)).pid === before) await sleep(POLL_MS);
  }

  /** Every gateway is ready, and a turn runs through. */
  async function worksAgain(): Promise<void> {
    for (;;) {
      const there = (await whoAnswers(product)) !== undefined;
      if (there && (await ask(product, 'agent.execute', { message: 'again' })).result !== undefined) return;
      await sleep(POLL_MS);
    }
  }
});

function isAway(error: Answer['error']): boolean {
  return AWAY.includes(String(error?.data?.['code']));
}
