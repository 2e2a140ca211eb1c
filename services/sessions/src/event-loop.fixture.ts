import assert from 'node:assert/strict';
import { join } from 'node:path';
import { openStore } from '@switchyard/store';
import { sessionCollection, type SessionDocument } from './model/session-document.ts';
import { turnCollection } from './model/turn-document.ts';
import { storeText } from './model/stored-text.ts';
import { bodyCollection } from './model/text-document.ts';
import { getTurnId } from './sessions.fixture.ts';

/** Maximum time that one request may block the event loop, in milliseconds of processor time, on a free processor. */
export const MAX_BLOCK_MS = 20;
/** A processor that other processes share is slower by up to this factor. The faults that this file found blocked for 100 ms and more. */
const BUSY_FACTOR = 2.5;
/** Each request is sent up to that often, and the smallest block counts: compilation and garbage collection lengthen some rounds. */
export const ROUNDS = 5;
export const KEY = 'default:test:gateway';
export const MESSAGE_CHARS = 99_000;

function createSession(key: string, userId: string, turns: number): SessionDocument {
  const counts = { inputTokens: 0, outputTokens: 0, costUsd: 0, lastSteps: 0, depth: 0, fence: 0, leaseUntil: 0 };
  const ids = { key, agentId: 'default', userId, channelId: 'gateway', kind: 'dm' as const, epoch: `e-${userId}` };
  return { ...ids, ...counts, queue: [], owner: null, metadata: {}, messageCount: 2 * turns, lastSeq: turns, createdAt: 1, updatedAt: 1 };
}

/** Stores one session with finished turns, each with a question and an answer of that many characters, and idle sessions. */
export async function fill(data: string, { turns = 0, characters = 0, idle = 0 }): Promise<void> {
  const store = await openStore(`sqlite:${join(data, 'store')}`, { service: 'sessions' });
  const opened = await store.open({ sessions: sessionCollection, turns: turnCollection, bodies: bodyCollection });
  const owner = { tenant: 'default' };
  const bodies = opened.bodies.for(owner);
  await opened.sessions.for(owner).insert(createSession(KEY, 'test', turns));
  for (let n = 0; n < idle; n += 1) await opened.sessions.for(owner).insert(createSession(`default:u${n}:gateway`, `u${n}`, 1));
  for (let n = 0; n < turns; n += 1) {
    const turnId = getTurnId(`t${n}x`);
    const text = Array.from({ length: characters / 7 }, (_, word) => `w${(word * 7919 + n) % 50_000}`).join(' ');
    const ids = { turnId, sessionKey: KEY, agentId: 'default', client: 'test', scopes: [], epoch: 'e-test', seq: n + 1 };
    const work = { state: 'done' as const, fence: 1, attempts: 1, checkpoints: 0, steps: [], tail: [], fingerprint: '' };
    const end = { tokensUsed: { input: 0, output: 0, total: 0 }, finishReason: 'stop' as const, createdAt: n, finishedAt: n };
    const content = { message: await storeText(bodies, turnId, text), answer: await storeText(bodies, turnId, text) };
    await opened.turns.for(owner).insert({ ...ids, ...work, ...end, ...content });
  }
  await store.close();
}

/** Gives the blocks of the event loop since the call, the longest first, in milliseconds of this thread's processor time. */
export function watchEventLoop(): () => number[] {
  const blocks: number[] = [];
  let before = process.threadCpuUsage();
  const look = (): void => {
    const { user, system } = process.threadCpuUsage(before);
    blocks.push((user + system) / 1_000);
    before = process.threadCpuUsage();
  };
  const timer = setInterval(look, 1).unref();
  return () => {
    clearInterval(timer);
    look();
    return blocks.toSorted((a, b) => b - a);
  };
}

export async function assertYields(name: string, request: () => Promise<unknown>): Promise<void> {
  const longest: number[] = [];
  while (longest.length < ROUNDS && Math.min(...longest) > MAX_BLOCK_MS) {
    const getBlocks = watchEventLoop();
    await request();
    longest.push(getBlocks()[0] ?? 0);
  }
  assertShort(name, longest);
}

export function assertShort(name: string, blocks: readonly number[]): void {
  assert.ok(
    Math.min(...blocks) <= MAX_BLOCK_MS * BUSY_FACTOR,
    `${name} blocked the event loop for ${blocks.map((ms) => ms.toFixed(1)).join(', ')} ms`,
  );
}
