import type { Handler } from '@switchyard/bus';
import { contracts, ServiceError, type Result, type ServiceName, type TurnEndRecord } from '@switchyard/contracts';
import type { Host } from '@switchyard/service-kit';

/** An order as the sessions service received it. */
export type ReceivedOrder = Parameters<Handler<'turns.order'>>[0] & { client: string; tenant: string; turnId: string };

/** A double of the sessions service: it accepts orders of turns, and the test ends them. */
export interface TurnsDouble {
  /** The orders by tenant and key, each once. */
  readonly orders: ReadonlyMap<string, ReceivedOrder>;
  /** Resolves with the next order that no earlier call has returned. */
  next(): Promise<ReceivedOrder>;
  /** Ends a turn, and wakes the service that ordered it. */
  end(turnId: string, how?: Partial<TurnEndRecord>): void;
  /** Rejects the orders that follow; undefined accepts them again. */
  reject(error: ServiceError | undefined): void;
}

const USAGE = { calls: 1, unknownCalls: 0, input: 30, output: 12, cacheRead: 0, cacheWrite: 0, costUsd: 0.002 };
const TURN_ID_CHARS = 22;

export async function serveTurns(host: Host): Promise<TurnsDouble> {
  const bus = await host.connect('sessions');
  const orders = new Map<string, ReceivedOrder>();
  const turns = new Map<string, { record: TurnEndRecord; service: ServiceName }>();
  const unread: ReceivedOrder[] = [];
  const waiting: ((order: ReceivedOrder) => void)[] = [];
  let rejection: ServiceError | undefined;

  const order: Handler<'turns.order'> = (params, { principal: { tenant, client } }): Result<'turns.order'> => {
    if (rejection) throw rejection;
    const key = `${tenant} ${params.idempotencyKey}`;
    const sessionKey = `${tenant}:${client}:gateway`;
    let received = orders.get(key);
    if (!received) {
      const turnId = `turn_${String(orders.size).padStart(TURN_ID_CHARS, '0')}`;
      received = { ...params, client, tenant, turnId };
      orders.set(key, received);
      turns.set(turnId, { record: { turnId, sessionKey, state: 'running' }, service: params.origin.service });
      const receive = waiting.shift();
      if (receive) receive(received);
      else unread.push(received);
    }
    return { turnId: received.turnId, sessionKey, state: 'running' };
  };

  function end(turnId: string, how: Partial<TurnEndRecord> = {}): void {
    const turn = turns.get(turnId);
    if (!turn) throw new Error(`no order has the turn ${turnId}`);
    const result = { response: 'It is noon.', tokensUsed: { input: 30, output: 12, total: 42 }, finishReason: 'stop' as const };
    turn.record = { ...turn.record, state: 'done', result, usage: USAGE, steps: 1, ...how };
    bus.wake(turn.service);
  }

  await bus.serve(
    contracts.sessions,
    {
      'turns.order': order,
      'turns.cancel': ({ turnId: id, idempotencyKey }, { principal: { tenant } }) => {
        const turnId = id ?? orders.get(`${tenant} ${idempotencyKey}`)?.turnId;
        if (turnId === undefined) throw new ServiceError('NOT_FOUND', `no order ${idempotencyKey}`);
        end(turnId, { state: 'cancelled', result: undefined });
        return { turnId, state: 'cancelled' };
      },
      'turns.ends': ({ turnIds }) => ({
        turns: turnIds.flatMap((turnId) => turns.get(turnId)?.record ?? []),
        missing: turnIds.filter((turnId) => !turns.has(turnId)),
      }),
    },
    { version: '0.0.0' },
  );
  return {
    orders,
    next: async () => unread.shift() ?? new Promise((resolve) => void waiting.push(resolve)),
    end,
    reject: (error) => void (rejection = error),
  };
}
