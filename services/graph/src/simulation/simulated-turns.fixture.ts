import assert from 'node:assert/strict';
import type { TurnEndRecord } from '@switchyard/contracts';
import type { SimulatedBus, Simulation } from '@switchyard/testkit';

const SLOWEST_TURN_MS = 4_000;
const SPENT = { calls: 1, unknownCalls: 0, input: 3, output: 2, cacheRead: 0, cacheWrite: 0, costUsd: 0 };

export interface SimulatedTurnsOptions {
  simulation: Simulation;
  bus: SimulatedBus;
  /** Turns that may run at once. */
  maxTurns: number;
  /** Returns whether the attempt of a node fails. */
  fails: (key: StepKey) => boolean;
}

export interface StepKey {
  runId: string;
  nodeId: string;
  attempt: number;
}

export function parseStepKey(stepId: string): StepKey {
  const [runId = '', nodeId = '', attempt = ''] = stepId.split('/');
  return { runId, nodeId, attempt: Number(attempt) };
}

/** Parameters of the methods that the graph service calls. */
interface Requests {
  idempotencyKey: string;
  turnIds?: string[];
  principals?: unknown[];
}

/** The sessions and secrets services of a simulation: turns by key, which end after a random time and then wake the graph service. */
export function simulateTurns({ simulation, bus, maxTurns, fails }: SimulatedTurnsOptions) {
  const sessions = simulation.start('sessions');
  const turns = new Map<string, TurnEndRecord>();
  const orders = new Map<string, number>();

  function order(idempotencyKey: string) {
    const turnId = `turn ${idempotencyKey}`;
    orders.set(idempotencyKey, (orders.get(idempotencyKey) ?? 0) + 1);
    if (!turns.has(turnId)) startTurn(turnId, idempotencyKey);
    return { turnId, sessionKey: 's', state: 'running' };
  }

  function startTurn(turnId: string, idempotencyKey: string): void {
    const record: TurnEndRecord = { turnId, sessionKey: 's', state: 'running' };
    turns.set(turnId, record);
    const open = [...turns.values()].filter(({ state }) => state === 'running').length;
    assert.ok(open <= maxTurns, `${open} turns run at once`);
    sessions.clock.after(simulation.dice.of([0, 100, simulation.dice.below(SLOWEST_TURN_MS)]), () => {
      turns.set(turnId, { ...record, ...endTurn(idempotencyKey), usage: SPENT, steps: 1 });
      bus.from(sessions).wake('graph');
    });
  }

  function endTurn(idempotencyKey: string): Partial<TurnEndRecord> {
    if (fails(parseStepKey(idempotencyKey))) return { state: 'failed', failure: { code: 'UNAVAILABLE', message: 'the model failed' } };
    return { state: 'done', result: { response: idempotencyKey, tokensUsed: { input: 3, output: 2, total: 5 }, finishReason: 'stop' } };
  }

  bus.answer = (name, params) => {
    const { idempotencyKey, turnIds = [], principals = [] } = params as Requests;
    if (name === 'turns.order') return order(idempotencyKey);
    if (name === 'turns.ends') return { turns: turnIds.flatMap((turnId) => turns.get(turnId) ?? []), missing: [] };
    if (name === 'tokens.standing') return { standings: principals.map(() => ({ state: 'current' })) };
    throw new TypeError(`the simulation answers no ${name}`);
  };
  /** The keys of all turns, with the number of orders of each. */
  return { orders: orders as ReadonlyMap<string, number> };
}
