import {
  AGENTS_BUCKET,
  AgentConfig,
  contracts,
  type ApprovalRecord,
  type ConfigurationPatch,
  type Input,
  type Principal,
  type Result,
  ServiceError,
  type TokenStanding,
  type TurnEndRecord,
} from '@switchyard/contracts';
import type { Bus, Handler, Handlers } from '@switchyard/bus';
import type { Host } from '@switchyard/service-kit';
import { testService, type TestService } from '@switchyard/testkit';
import { graph } from './service.ts';

type Order = Parameters<Handler<'turns.order'>>[0] & { client: string; turnId: string };
type Question = Input<'approvals.order'> & { requestId: string };

/** The turns that the graph service ordered, and how they end. A double of the sessions service. */
export interface OrderedTurns {
  /** The orders by key, each once. */
  readonly orders: ReadonlyMap<string, Order>;
  readonly cancelled: ReadonlySet<string>;
  /** Resolves with the next order that no earlier call has returned. */
  next(): Promise<Order>;
  /** Ends a turn with an answer and wakes the graph service. */
  end(order: { turnId: string }, how?: Partial<TurnEndRecord> | string): void;
  /** Answers all further orders at once; undefined leaves them to the test. */
  answer(respond: ((order: Order) => Partial<TurnEndRecord> | string) | undefined): void;
  /** The requests for approval by id. */
  readonly questions: ReadonlyMap<string, Question>;
  readonly withdrawn: ReadonlySet<string>;
  /** Resolves with the first request for approval that no earlier call has returned. */
  nextQuestion(): Promise<Question>;
  /** Decides a request and wakes the graph service. */
  decide(question: { requestId: string }, verdict: Omit<ApprovalRecord, 'requestId'>): void;
  /** Rejects the orders that follow; undefined accepts them again. */
  reject(error: ServiceError | undefined): void;
}

interface GraphOptions {
  standing?: () => TokenStanding;
  as?: Principal;
  data?: string;
  env?: Readonly<Record<string, string>>;
  settings?: ConfigurationPatch;
  agents?: readonly string[];
}

const USAGE = { calls: 1, unknownCalls: 0, input: 30, output: 12, cacheRead: 5, cacheWrite: 0, costUsd: 0.002 };
const TOKENS = { input: 30, output: 12, total: 42 };

/** Returns the end of a turn that failed. */
export function failure(message: string, response?: string): Partial<TurnEndRecord> {
  const result = response === undefined ? undefined : { response, tokensUsed: TOKENS, finishReason: 'error' as const };
  return { state: 'failed', result, failure: { code: 'UNAVAILABLE', message } };
}

/** Starts the graph service with a sessions service that the test controls. */
export async function testGraph({ agents = [], standing = () => ({ state: 'current' }), ...options }: GraphOptions = {}): Promise<
  TestService & { turns: OrderedTurns }
> {
  let turns: OrderedTurns | undefined;
  const app = await testService(graph, {
    ...options,
    async prepare(host) {
      turns = await serveCollaborators(host, { standing, agents });
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

/** Serves the methods of the sessions and secrets services that the graph service calls, and publishes agents. */
export async function serveCollaborators(
  host: Host,
  { standing = () => ({ state: 'current' }), agents = [] }: Pick<GraphOptions, 'standing' | 'agents'> = {},
): Promise<OrderedTurns> {
  const handlers: Handlers<typeof contracts.secrets> = {
    'tokens.standing': ({ principals }) => ({ standings: principals.map(standing) }),
  };
  await (await host.connect('secrets')).serve(contracts.secrets, handlers, { version: '0.0.0' });
  for (const agentId of ['default', ...agents]) await putAgent(host.bus, agentId);
  return serveTurns(host);
}

async function putAgent(bus: Bus, agentId: string): Promise<void> {
  const projection = { agentId, tenant: 'default', suspended: false, isDefault: agentId === 'default', config: AgentConfig.parse({}) };
  await (await bus.kv(AGENTS_BUCKET)).put(`default.${agentId}`, Buffer.from(JSON.stringify(projection)));
}

async function serveTurns(host: Host): Promise<OrderedTurns> {
  const bus = await host.connect('sessions');
  const orders = new Map<string, Order>();
  const records = new Map<string, TurnEndRecord>();
  const cancelled = new Set<string>();
  const unread: Order[] = [];
  const waiting: ((order: Order) => void)[] = [];
  const approvals = serveApprovals(() => bus.wake('graph'));
  let rejection: ServiceError | undefined;
  let respond: ((order: Order) => Partial<TurnEndRecord> | string) | undefined;

  function end({ turnId }: { turnId: string }, how: Partial<TurnEndRecord> | string = 'It is noon.'): void {
    const record = records.get(turnId);
    if (!record) throw new Error(`no order has the turn ${turnId}`);
    const result = { response: typeof how === 'string' ? how : '', tokensUsed: TOKENS, finishReason: 'stop' as const };
    records.set(turnId, { ...record, state: 'done', result, usage: USAGE, steps: 1, ...(typeof how === 'string' ? {} : how) });
    bus.wake('graph');
  }

  function order(params: Parameters<Handler<'turns.order'>>[0], client: string): Result<'turns.order'> {
    if (rejection) throw rejection;
    const sessionKey = `default:${client}:gateway`;
    const known = orders.get(params.idempotencyKey);
    if (known) return { turnId: known.turnId, sessionKey, state: 'running' };
    const turnId = `turn_${String(orders.size).padStart(22, '0')}`;
    const ordered = { ...params, client, turnId };
    orders.set(params.idempotencyKey, ordered);
    records.set(turnId, { turnId, sessionKey, state: 'running' });
    const receive = waiting.shift();
    if (respond) end(ordered, respond(ordered));
    else if (receive) receive(ordered);
    else unread.push(ordered);
    return { turnId, sessionKey, state: 'running' };
  }

  await bus.serve(
    contracts.sessions,
    {
      'turns.order': (params, { principal }) => order(params, principal.client),
      'turns.ends': ({ turnIds }) => ({
        turns: turnIds.flatMap((turnId) => records.get(turnId) ?? []),
        missing: turnIds.filter((turnId) => !records.has(turnId)),
      }),
      ...approvals.handlers,
      'turns.cancel': ({ turnId: id, idempotencyKey = '' }) => {
        const turnId = id ?? orders.get(idempotencyKey)?.turnId;
        if (turnId === undefined) throw new ServiceError('NOT_FOUND', `no order ${idempotencyKey}`);
        cancelled.add(turnId);
        const record = records.get(turnId);
        if (record?.state === 'running') end({ turnId }, { state: 'cancelled', result: undefined });
        return { turnId, state: 'cancelled' };
      },
    },
    { version: '0.0.0' },
  );
  return {
    orders,
    cancelled,
    questions: approvals.questions,
    withdrawn: approvals.withdrawn,
    nextQuestion: approvals.next,
    decide: approvals.decide,
    next: async () => unread.shift() ?? new Promise((resolve) => void waiting.push(resolve)),
    end,
    answer: (responder) => void (respond = responder),
    reject: (error) => void (rejection = error),
  };
}

/** A double of the approvals that the sessions service owns. */
function serveApprovals(wake: () => void) {
  const questions = new Map<string, Question>();
  const withdrawn = new Set<string>();
  const records = new Map<string, ApprovalRecord>();
  const unread: Question[] = [];
  const waiting: ((question: Question) => void)[] = [];

  function decide({ requestId }: { requestId: string }, verdict: Omit<ApprovalRecord, 'requestId'>): void {
    records.set(requestId, { requestId, ...verdict });
    wake();
  }
  const handlers = {
    'approvals.order'(params: Input<'approvals.order'>): ApprovalRecord {
      const requestId = `appr_${params.idempotencyKey.replaceAll('/', '_')}`;
      const known = records.get(requestId);
      if (known) return known;
      const record: ApprovalRecord = { requestId, state: 'pending' };
      const question = { ...params, requestId };
      records.set(requestId, record);
      questions.set(requestId, question);
      const receive = waiting.shift();
      if (receive) receive(question);
      else unread.push(question);
      return record;
    },
    'approvals.verdicts': ({ requestIds }: Input<'approvals.verdicts'>) => ({
      requests: requestIds.flatMap((requestId) => records.get(requestId) ?? []),
      missing: requestIds.filter((requestId) => !records.has(requestId)),
    }),
    'approvals.withdraw'({ requestIds }: Input<'approvals.withdraw'>) {
      const pending = requestIds.filter((requestId) => records.get(requestId)?.state === 'pending');
      for (const requestId of pending) {
        withdrawn.add(requestId);
        decide({ requestId }, { state: 'denied', decidedBy: 'system:withdrawn' });
      }
      return { withdrawn: pending.length };
    },
  };
  return {
    handlers,
    questions,
    withdrawn,
    decide,
    next: async () => unread.shift() ?? new Promise<Question>((resolve) => void waiting.push(resolve)),
  };
}
