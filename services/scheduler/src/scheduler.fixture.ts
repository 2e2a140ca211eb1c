import {
  AGENTS_BUCKET,
  AgentConfig,
  contracts,
  type ConfigurationPatch,
  type Principal,
  type Result,
  type ServiceError,
  type TokenStanding,
  type TurnEndRecord,
} from '@switchyard/contracts';
import type { Bus, Handler, Handlers } from '@switchyard/bus';
import type { Host } from '@switchyard/service-kit';
import { testService, type TestService } from '@switchyard/testkit';
import { scheduler } from './service.ts';

type Order = Parameters<Handler<'turns.order'>>[0];

/** The turns that the scheduler ordered, and how they end. A double of the sessions service. */
export interface OrderedTurns {
  /** The orders by key, each once. */
  readonly orders: ReadonlyMap<string, Order & { client: string }>;
  /** Resolves with the next order that no earlier call has returned. */
  next(): Promise<Order & { client: string; turnId: string }>;
  /** Ends a turn and wakes the scheduler. */
  end(turnId: string, how?: Partial<TurnEndRecord>): void;
  /** Rejects the orders that follow; undefined accepts them again. */
  reject(error: ServiceError | undefined): void;
}

interface SchedulerOptions {
  /** How the token of each job's maker stands; by default it is current. */
  standing?: () => TokenStanding;
  as?: Principal;
  data?: string;
  settings?: ConfigurationPatch;
  agents?: readonly string[];
  /** Whether each turn ends before its order is answered. The wake-up of such an end reaches another replica. */
  endAtOnce?: boolean;
  /** The configuration of the default agent. */
  agent?: object;
}

const USAGE = { calls: 1, unknownCalls: 0, input: 30, output: 12, cacheRead: 0, cacheWrite: 0, costUsd: 0.002 };

/** Starts the scheduler with a sessions service that the test controls. */
export async function testScheduler({
  agents = [],
  agent = {},
  standing = () => ({ state: 'current' }),
  endAtOnce = false,
  ...options
}: SchedulerOptions = {}): Promise<TestService & { turns: OrderedTurns }> {
  let turns: OrderedTurns | undefined;
  const app = await testService(scheduler, {
    ...options,
    async prepare(host) {
      turns = await serveTurns(host, endAtOnce);
      const handlers: Handlers<typeof contracts.secrets> = {
        'tokens.standing': ({ principals }) => ({ standings: principals.map(standing) }),
      };
      await (await host.connect('secrets')).serve(contracts.secrets, handlers, { version: '0.0.0' });
      await putAgent(host.bus, 'default', agent);
      for (const agentId of agents) await putAgent(host.bus, agentId);
    },
  });
  return {
    ...app,
    get audited() {
      return app.audited;
    },
    turns: turns!,
  };
}

/** Publishes an agent as the registry does. */
export async function putAgent(bus: Bus, agentId: string, config: object = {}): Promise<void> {
  const projection = { agentId, tenant: 'default', suspended: false, isDefault: agentId === 'default', config: AgentConfig.parse(config) };
  await (await bus.kv(AGENTS_BUCKET)).put(`default.${agentId}`, Buffer.from(JSON.stringify(projection)));
}

async function serveTurns(host: Host, endAtOnce: boolean): Promise<OrderedTurns> {
  const bus = await host.connect('sessions');
  const orders = new Map<string, Order & { client: string }>();
  const records = new Map<string, TurnEndRecord>();
  const unread: (Order & { client: string; turnId: string })[] = [];
  const waiting: ((order: Order & { client: string; turnId: string }) => void)[] = [];
  let rejection: ServiceError | undefined;

  function order(params: Order, client: string): Result<'turns.order'> {
    if (rejection) throw rejection;
    const turnId = `turn_${String([...orders.keys(), params.idempotencyKey].indexOf(params.idempotencyKey)).padStart(22, '0')}`;
    const sessionKey = `default:${client}:gateway`;
    if (!orders.has(params.idempotencyKey)) {
      orders.set(params.idempotencyKey, { ...params, client });
      records.set(turnId, { turnId, sessionKey, state: 'running' });
      const receive = waiting.shift();
      if (receive) receive({ ...params, client, turnId });
      else unread.push({ ...params, client, turnId });
      if (endAtOnce) setEnd(turnId);
    }
    return { turnId, sessionKey, state: 'running' };
  }

  function setEnd(turnId: string, how: Partial<TurnEndRecord> = {}): void {
    const record = records.get(turnId);
    if (!record) throw new Error(`no order has the turn ${turnId}`);
    const tokensUsed = { input: 30, output: 12, total: 42 };
    const result = { response: 'It is noon.', tokensUsed, finishReason: 'stop' as const };
    records.set(turnId, { ...record, state: 'done', result, usage: USAGE, steps: 1, ...how });
  }

  function end(turnId: string, how?: Partial<TurnEndRecord>): void {
    setEnd(turnId, how);
    bus.wake('scheduler');
  }

  await bus.serve(
    contracts.sessions,
    {
      'turns.order': (params, { principal }) => order(params, principal.client),
      'turns.cancel': ({ turnId }) => {
        end(turnId, { state: 'cancelled', result: undefined });
        return { turnId, state: 'cancelled' };
      },
      'turns.ends': ({ turnIds }) => ({
        turns: turnIds.flatMap((turnId) => records.get(turnId) ?? []),
        missing: turnIds.filter((turnId) => !records.has(turnId)),
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
