import { createServiceError, type Principal, type ServiceError } from '@switchyard/contracts';
import type { ModelMessage, ModelRef, Models } from '@switchyard/models';
import type { Clock } from '@switchyard/service-kit';
import type { Collection, Store } from '@switchyard/store';
import type { Agent } from '../agents/agent-directory.ts';
import { countMessageChars } from '../context-window/window-guard.ts';
import { toTokens } from '../context-window/context-window.ts';
import type { BudgetDocument } from '../model/budget-document.ts';
import { createAllotments, type Share } from './budget-allocations.ts';
import { createLedger } from './budget-store.ts';
import { HOUR_MS, MICRO_USD, getMeters, type Limited, type NamedMeter } from './budget-meters.ts';
import { getPrice } from './model-prices.ts';

/** Reason in the error details when a budget is exhausted. */
export const BUDGET_EXCEEDED = 'BUDGET_EXCEEDED';

/** Actual use of one model call. */
export interface Used {
  tokens: number;
  costUsd: number;
}

/** Reservation for one model call. */
export interface Reserved {
  readonly expected: Used;
  /** Only the first call has an effect. */
  settle(used: Used): void;
}

/** The model request for which a budget is reserved. */
export interface Call {
  model: ModelRef;
  system?: string | undefined;
  messages: readonly ModelMessage[];
  /** 0 for a call without output, such as an embedding. */
  maxOutputTokens?: number | undefined;
  /** Input tokens that are not part of `messages`. */
  inputTokens?: number | undefined;
}

/** The budget of one caller with one agent. */
export interface Budget {
  /** Reserves the expected use before a model call. Throws RESOURCE_EXHAUSTED with reason BUDGET_EXCEEDED if a limit is used up. */
  reserve(call: Call): Promise<Reserved>;
  /** Synchronous variant of `reserve` that uses only the local allotment. Returns undefined if `reserve` has to be called. */
  reserveNow(call: Call): Reserved | undefined;
}

/** The principal of the model call. `client` is set for turns of a client. */
export type Spender = Pick<Principal, 'tenant' | 'budgets'> & Partial<Pick<Principal, 'client'>>;

/** Hourly and daily budgets of agents and tokens, enforced across all replicas. */
export interface Budgets extends AsyncDisposable {
  of(spender: Spender, agent: Agent): Budget;
}

export interface BudgetsDeps {
  budgets: Collection<BudgetDocument>;
  store: Pick<Store, 'now'>;
  clock: Clock;
  models: Pick<Models, 'catalogue' | 'revision'>;
}

/** Expected output tokens of a call before the agent's response length is known. */
const USUAL_ANSWER_TOKENS = 1_024;
/** Decay factor of the expected response length after each shorter response. */
const FORGETTING = 0.9;

export function createBudgets({ budgets, store, clock, models }: BudgetsDeps): Budgets {
  const allotments = createAllotments(createLedger(budgets), clock);
  /** Recent maximum response length of each agent, with decay. */
  const answers = new WeakMap<Agent, number>();
  const ofAgents = new WeakMap<Agent, { tenant: string; until: number; meters: readonly NamedMeter[] }>();

  function learn(agent: Agent, output: number): void {
    answers.set(agent, Math.max(1, output, Math.ceil((answers.get(agent) ?? 0) * FORGETTING)));
  }

  /** Caches the meters of an agent for one hour. Meters of a client are rare and are computed on each call. */
  function metersFor(spender: Spender, agent: Agent): readonly NamedMeter[] {
    const now = store.now();
    const known = ofAgents.get(agent);
    const own = known && now < known.until && known.tenant === spender.tenant ? known.meters : getMeters(limitedAgent(spender, agent), now);
    if (own !== known?.meters) ofAgents.set(agent, { tenant: spender.tenant, until: now - (now % HOUR_MS) + HOUR_MS, meters: own });
    const clients = [limitedShare(spender, agent), limitedClient(spender)].filter((limited) => limited !== undefined);
    return clients.length === 0 ? own : [...own, ...clients.flatMap((limited) => getMeters(limited, now))];
  }

  /** Estimates the use of a call and selects its meters. */
  function need(spender: Spender, agent: Agent, call: Call): Need {
    const input = call.inputTokens ?? toTokens(charsIn(call));
    const output = Math.min(call.maxOutputTokens ?? Infinity, answers.get(agent) ?? USUAL_ANSWER_TOKENS);
    const meters = metersFor(spender, agent);
    // A call without output is no sample of the response length.
    const used = (tokens: number): void => (call.maxOutputTokens === 0 ? undefined : learn(agent, tokens - input));
    return { meters, input, output, expected: { tokens: input + output, costUsd: 0 }, used };
  }

  return {
    of: (spender, agent) => ({
      async reserve(call) {
        const needed = need(spender, agent, call);
        const { meters, expected } = needed;
        if (inMoney(meters)) expected.costUsd = await getPrice(models, call.model, needed);
        const taken: Taken[] = [];
        for (const meter of meters) {
          const share = await allotments.take(meter, Math.max(1, getAmount(meter, expected)));
          if (!share) {
            settleAll(taken, NOTHING);
            throw exceeded(meter, store.now());
          }
          taken.push({ meter, share });
        }
        return getReserved(taken, needed);
      },

      reserveNow(call) {
        const needed = need(spender, agent, call);
        const { meters, expected } = needed;
        if (inMoney(meters)) return undefined;
        const taken: Taken[] = [];
        for (const meter of meters) {
          const share = allotments.takeNow(meter, Math.max(1, getAmount(meter, expected)));
          if (!share) {
            settleAll(taken, NOTHING);
            return undefined;
          }
          taken.push({ meter, share });
        }
        return getReserved(taken, needed);
      },
    }),
    [Symbol.asyncDispose]: () => allotments[Symbol.asyncDispose](),
  };
}

/** A reserved part of a meter. */
interface Taken {
  meter: NamedMeter;
  share: Share;
}

interface Need {
  meters: readonly NamedMeter[];
  input: number;
  output: number;
  expected: Used;
  /** Records the total number of tokens used. */
  used: (tokens: number) => void;
}

const NOTHING: Used = { tokens: 0, costUsd: 0 };

/** Cost meters need the price catalog, which is read asynchronously. */
function inMoney(meters: readonly NamedMeter[]): boolean {
  return meters.some(({ unit }) => unit === 'money');
}

function getReserved(taken: Taken[], { expected, used: learn }: Need): Reserved {
  return {
    expected,
    settle(used) {
      if (taken.length > 0 && used.tokens > 0) learn(used.tokens);
      settleAll(taken, used);
    },
  };
}

/** Settles each share once; `splice` empties the list. */
function settleAll(taken: Taken[], used: Used): void {
  for (const { meter, share } of taken.splice(0)) share.settle(getAmount(meter, used));
}

function limitedAgent({ tenant }: Spender, { agentId, config }: Agent): Limited {
  return { tenant, subject: `agent:${agentId}`, who: `agent ${agentId}`, path: `agents.${agentId}.budgets`, limits: config.budgets };
}

/** Returns the share of the agent's budgets that the client may use; undefined if it may use all. */
function limitedShare({ tenant, client }: Spender, { agentId, config: { budgets } }: Agent): Limited | undefined {
  if (client === undefined || budgets.clientShare === 1) return undefined;
  const who = `share of client ${client} of agent ${agentId}`;
  const scale = (limit: number | undefined): number | undefined => (limit === undefined ? undefined : limit * budgets.clientShare);
  const money = { perHourUsd: scale(budgets.perHourUsd), perDayUsd: scale(budgets.perDayUsd) };
  const limits = {
    perHour: Math.ceil(budgets.perHour * budgets.clientShare),
    perDay: Math.ceil(budgets.perDay * budgets.clientShare),
    ...money,
  };
  return { tenant, subject: `agent:${agentId} client:${client}`, who, path: `agents.${agentId}.budgets`, limits };
}

function limitedClient({ tenant, client, budgets }: Spender): Limited | undefined {
  if (budgets === undefined || client === undefined) return undefined;
  return { tenant, subject: `token:${client}`, who: `token ${client}`, path: 'its budgets', limits: budgets };
}

function getAmount({ unit }: NamedMeter, { tokens, costUsd }: Used): number {
  return unit === 'money' ? Math.ceil(costUsd * MICRO_USD) : Math.ceil(tokens);
}

function charsIn({ system = '', messages }: Call): number {
  return messages.reduce((sum, message) => sum + countMessageChars(message), system.length);
}

function exceeded({ who, limit, unit, path, endsAt }: NamedMeter, now: number): ServiceError {
  const amount = unit === 'money' ? `$${limit / MICRO_USD}` : `${limit} tokens`;
  return createServiceError(
    'RESOURCE_EXHAUSTED',
    `The ${who} has used up the ${amount} of ${path}. Retry when the budget period has ended.`,
    {
      details: { reason: BUDGET_EXCEEDED, rate: true, retryAfterMs: Math.max(1, endsAt - now) },
    },
  );
}
