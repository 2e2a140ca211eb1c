import {
  AGENTS_BUCKET,
  AgentConfig,
  contracts,
  type ConfigurationPatch,
  type Principal,
  type Result,
  ServiceError,
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
  /** The keys of all accepted orders, repeated ones included. */
  readonly keys: readonly string[];
  /** The turns that were cancelled. */
  readonly cancelled: ReadonlySet<string>;
  /** Resolves with the next order that no earlier call has returned. */
  next(): Promise<Order & { client: string; turnId: string }>;
  /** Ends a turn and wakes the scheduler. */
  end(turnId: string, how?: Partial<TurnEndRecord>): void;
  /** Removes a turn, as the owner of its session may do. */
  forget(turnId: string): void;
  /** Rejects the orders that follow; undefined accepts them again. */
  reject(error: ServiceError | undefined): void;
}

interface SchedulerOptions {
  /** How the token of each job's maker stands; by default it is current. */
  standing?: () => TokenStanding;
  as?: Principal;
  data?: string;
  settings?: ConfigurationPatch;
  /** Agents beside the default one, of the tenant `default` or of several tenants. */
  agents?: readonly (string | { agentId: string; tenants: readonly string[] })[];
  /** Whether each turn ends before its order is answered. The wake-up of such an end reaches another replica. */
  endAtOnce?: boolean;
  /** Called with each new order. */
  onOrder?: ((order: { tenant: string; agentId?: string | undefined }) => void) | undefined;
  /** The configuration of the default agent. */
  agent?: object;
}

const USAGE = { calls: 1, unknownCalls: 0, input: 30, output: 12, cacheRead: 0, cacheWrite: 0, costUsd: 0.002 };

/** The exchange of every turn. */
const EXCHANGE = { message: 'Please remind me to send the offer.', response: 'I will.', messageIndex: 1 };

/** The machine of a test has alerts of its own. */
const NO_CHECKS: ConfigurationPatch['monitoring'] = {
  disk: { enabled: false },
  resources: { enabled: false },
  systemd: { enabled: false },
  securityUpdates: { enabled: false },
};

/** Starts the scheduler with a sessions service that the test controls. */
export async function testScheduler({
  agents = [],
  agent = {},
  standing = () => ({ state: 'current' }),
  endAtOnce = false,
  onOrder,
  ...options
}: SchedulerOptions = {}): Promise<TestService & { turns: OrderedTurns }> {
  let turns: OrderedTurns | undefined;
  const app = await testService(scheduler, {
    ...options,
    settings: { monitoring: NO_CHECKS, ...options.settings },
    async prepare(host) {
      turns = await serveTurns(host, { endAtOnce, onOrder });
      const handlers: Handlers<typeof contracts.secrets> = {
        'tokens.standing': ({ principals }) => ({ standings: principals.map(standing) }),
      };
      await (await host.connect('secrets')).serve(contracts.secrets, handlers, { version: '0.0.0' });
      await putAgent(host.bus, 'default', agent);
      for (const agent of agents) {
        const { agentId, tenants } = typeof agent === 'string' ? { agentId: agent, tenants: ['default'] } : agent;
        for (const tenant of tenants) await putAgent(host.bus, agentId, {}, tenant);
      }
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
export async function putAgent(bus: Bus, agentId: string, config: object = {}, tenant = 'default'): Promise<void> {
  const projection = { agentId, tenant, suspended: false, isDefault: agentId === 'default', config: AgentConfig.parse(config) };
  await (await bus.kv(AGENTS_BUCKET)).put(`${tenant}.${agentId}`, Buffer.from(JSON.stringify(projection)));
}

async function serveTurns(host: Host, { endAtOnce, onOrder }: Pick<SchedulerOptions, 'endAtOnce' | 'onOrder'>): Promise<OrderedTurns> {
  const bus = await host.connect('sessions');
  const orders = new Map<string, Order & { client: string }>();
  const keys: string[] = [];
  const cancelled = new Set<string>();
  const turnIds = new Map<string, string>();
  const records = new Map<string, TurnEndRecord>();
  const unread: (Order & { client: string; turnId: string })[] = [];
  const waiting: ((order: Order & { client: string; turnId: string }) => void)[] = [];
  let rejection: ServiceError | undefined;

  function order(params: Order, { client, tenant }: Principal): Result<'turns.order'> {
    if (rejection) throw rejection;
    keys.push(params.idempotencyKey);
    const turnId = turnIds.get(params.idempotencyKey) ?? `turn_${String(turnIds.size).padStart(22, '0')}`;
    turnIds.set(params.idempotencyKey, turnId);
    const sessionKey = `default:${client}:gateway`;
    if (!orders.has(params.idempotencyKey)) {
      orders.set(params.idempotencyKey, { ...params, client });
      onOrder?.({ tenant, agentId: params.agentId });
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
      'turns.order': (params, { principal }) => order(params, principal),
      'turns.cancel': ({ turnId: id, idempotencyKey = '' }) => {
        const turnId = id ?? turnIds.get(idempotencyKey);
        if (turnId === undefined || !records.has(turnId)) throw new ServiceError('NOT_FOUND', `no turn ${turnId}`);
        cancelled.add(turnId);
        end(turnId, { state: 'cancelled', result: undefined });
        return { turnId, state: 'cancelled' };
      },
      'turns.exchange': () => EXCHANGE,
      'turns.ends': ({ turnIds }) => ({
        turns: turnIds.flatMap((turnId) => records.get(turnId) ?? []),
        missing: turnIds.filter((turnId) => !records.has(turnId)),
      }),
    },
    { version: '0.0.0' },
  );
  return {
    orders,
    keys,
    cancelled,
    next: async () => unread.shift() ?? new Promise((resolve) => void waiting.push(resolve)),
    end,
    forget: (turnId) => void records.delete(turnId),
    reject: (error) => void (rejection = error),
  };
}
