import assert from 'node:assert/strict';
import type { TurnEndRecord } from '@switchyard/contracts';
import type { SimulatedBus, Simulation } from '@switchyard/testkit';

const SLOWEST_TURN_MS = 4_000;
const TURN_PREFIX = 'turn ';
const SPENT = { calls: 1, unknownCalls: 0, input: 3, output: 2, cacheRead: 0, cacheWrite: 0, costUsd: 0 };

export interface SimulatedTurnsOptions {
  simulation: Simulation;
  bus: SimulatedBus;
  /** Turns that may run at once. */
  maxTurns: number;
  /** Returns whether the attempt of a node fails. */
  fails: (key: StepKey) => boolean;
  /** Returns whether the run of a turn was cancelled. Its turns may run on until their cancellation arrives. */
  isCancelled: (key: StepKey) => boolean;
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
  turnId?: string;
  turnIds?: string[];
  principals?: unknown[];
}

/** The sessions and secrets services of a simulation: turns by key, which end after a random time and then wake the graph service. */
export function simulateTurns({ simulation, bus, maxTurns, fails, isCancelled }: SimulatedTurnsOptions) {
  const sessions = simulation.start('sessions');
  const turns = new Map<string, TurnEndRecord>();
  const orders = new Map<string, number>();
  let mostOpen = 0;

  function order(idempotencyKey: string) {
    const turnId = TURN_PREFIX + idempotencyKey;
    orders.set(idempotencyKey, (orders.get(idempotencyKey) ?? 0) + 1);
    if (!turns.has(turnId)) startTurn(turnId, idempotencyKey);
    return { turnId, sessionKey: 's', state: 'running' };
  }

  function startTurn(turnId: string, idempotencyKey: string): void {
    const record: TurnEndRecord = { turnId, sessionKey: 's', state: 'running' };
    turns.set(turnId, record);
    const open = [...turns.values()].filter(
      ({ state, turnId: id }) => state === 'running' && !isCancelled(parseStepKey(id.slice(TURN_PREFIX.length))),
    ).length;
    mostOpen = Math.max(mostOpen, open);
    sessions.clock.after(simulation.dice.of([0, 100, simulation.dice.below(SLOWEST_TURN_MS)]), () => {
      if (turns.get(turnId)?.state !== 'running') return;
      turns.set(turnId, { ...record, ...endTurn(idempotencyKey), usage: SPENT, steps: 1 });
      bus.from(sessions).wake('graph');
    });
  }

  function cancelTurn(turnId = ''): { cancelled: boolean } {
    const record = turns.get(turnId);
    if (record?.state !== 'running') return { cancelled: false };
    turns.set(turnId, { ...record, state: 'cancelled' });
    return { cancelled: true };
  }

  function endTurn(idempotencyKey: string): Partial<TurnEndRecord> {
    if (fails(parseStepKey(idempotencyKey))) return { state: 'failed', failure: { code: 'UNAVAILABLE', message: 'the model failed' } };
    return { state: 'done', result: { response: idempotencyKey, tokensUsed: { input: 3, output: 2, total: 5 }, finishReason: 'stop' } };
  }

  bus.answer = (name, params) => {
    const { idempotencyKey, turnId, turnIds = [], principals = [] } = params as Requests;
    if (name === 'turns.order') return order(idempotencyKey);
    if (name === 'turns.cancel') return cancelTurn(turnId ?? TURN_PREFIX + idempotencyKey);
    if (name === 'turns.ends') return { turns: turnIds.flatMap((turnId) => turns.get(turnId) ?? []), missing: [] };
    if (name === 'tokens.standing') return { standings: principals.map(() => ({ state: 'current' })) };
    throw new TypeError(`the simulation answers no ${name}`);
  };
  return {
    /** The keys of all turns, with the number of orders of each. */
    orders: orders as ReadonlyMap<string, number>,
    /** Throws if more turns were open at once than may be. */
    checkOpenTurns: () => assert.ok(mostOpen <= maxTurns, `${mostOpen} turns ran at once`),
  };
}
