import assert from 'node:assert/strict';
import type { Write } from '@switchyard/testkit';
import type { TurnDocument } from '../model/turn-document.ts';
import { createWorld, isQuiet, principal, startReplica, type Replica, type Script, type Waits, type World } from './scenario.fixture.ts';

/*
 * Helpers for scenarios that are scripted instead of driven by a seed.
 */

export const KEY = 'default:alice:one';
const STEPS = 100_000;

/** Starts a turn; by default of the agent with two slots, in the only session. */
export function sendMessage(
  replica: Replica,
  name: string,
  {
    agentId = 'wide',
    session = KEY,
    timeoutMs,
    key: idempotencyKey,
    ...script
  }: Partial<Script & { agentId: string; session: string; timeoutMs: number; key: string }> = {},
): Promise<TurnDocument> {
  const message = JSON.stringify({ turn: `turn_${name}`, pieces: 1, tools: [], pace: 0, ...script });
  const turnId = `turn_${name.padEnd(22, 'x')}`;
  const request = { method: 'agent.execute' as const, turnId, message, agentId, session, timeoutMs, idempotencyKey };
  return replica.runner.start(request, principal);
}

/** Runs the simulation until a condition holds. */
export async function waitUntil(world: World, leases: () => boolean): Promise<void> {
  assert.ok(await world.simulation.run(() => (world.judge.check(), leases()), STEPS), 'condition was never met');
}

const getName = (name: string): string => `default turn_${name.padEnd(22, 'x')}`;

export const isWritten = (world: World, name: string) => (): boolean => world.turns.documents.has(getName(name));

export function getTurn({ turns }: World, name: string): TurnDocument {
  const found = turns.documents.get(getName(name));
  assert.ok(found, `${name} was never written`);
  return found;
}

export const isRunning = (world: World, name: string) => (): boolean => getTurn(world, name).state === 'running';

export async function settled(world: World): Promise<void> {
  await waitUntil(world, () => isQuiet(world));
  world.judge.checkEnd(world.sessions.documents.values(), world.turns.documents.values());
}

export async function twoReplicas(
  sabotage?: (write: Write) => Record<string, unknown>,
  seed = 1,
  waits?: Waits,
): Promise<{ world: World; first: Replica; second: Replica }> {
  const world = createWorld({ seed, waits, ...(sabotage ? { sabotage } : {}) });
  return { world, first: startReplica(world), second: startReplica(world) };
}

/** Returns the result of an operation while the simulation continues. */
export async function getPromptMessages<T>(world: World, work: Promise<T>): Promise<PromiseSettledResult<T>> {
  let result: PromiseSettledResult<T> | undefined;
  void Promise.allSettled([work]).then(([one]) => (result = one));
  await waitUntil(world, () => result !== undefined);
  assert.ok(result);
  return result;
}
