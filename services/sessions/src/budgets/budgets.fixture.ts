import { AgentConfig } from '@switchyard/contracts';
import type { CatalogueEntry } from '@switchyard/models';
import type { Clock } from '@switchyard/service-kit';
import { openStore } from '@switchyard/store';
import type { Agent } from '../agents/agent-directory.ts';
import { budgetCollection } from '../model/budget-document.ts';
import { createBudgets, type Budgets, type Call, type Reserved } from './budgets.ts';

/**
 * Noon is far from the start and the end of both the hour and the day. The date is in the future, because the database deletes expired
 * documents.
 */
export const NOON = Date.UTC(2100, 0, 1, 12);
const PRICED = { provider: 'lab', modelId: 'one' };

/** A clock that advances only when a test calls `move`. */
export function standingClock() {
  let now = 0;
  const repeated: { ms: number; next: number; work: () => void }[] = [];
  const clock: Clock = {
    now: () => now,
    after: () => () => undefined,
    soon: (work) => void setImmediate(work),
    every(ms, work) {
      repeated.push({ ms, next: now + ms, work });
      return () => void repeated.splice(0);
    },
  };
  return {
    clock,
    move(ms: number): void {
      now += ms;
      for (const one of repeated.filter(({ next }) => next <= now)) {
        one.next = now + one.ms;
        one.work();
      }
    },
  };
}

/** One replica's budgets, on a database that replicas can share. */
export async function replica(url: string, { now = () => NOON, clock = standingClock().clock } = {}) {
  const store = await openStore(url, { service: 'sessions' });
  const { documents } = await store.open({ documents: budgetCollection });
  const entry = { ...PRICED, cost: { input: 1, output: 10, cacheRead: 0, cacheWrite: 0 } } as CatalogueEntry;
  const revision = {};
  const models = { catalogue: async () => [entry], revision: async () => revision };
  const budgets = createBudgets({ budgets: documents, store: { now }, clock, models });
  return {
    budgets,
    /** Returns the used and reserved amount of a meter, including all earlier writes. */
    used: async (id: string): Promise<number> => (await documents.for({ tenant: 'default' }).get(id))?.used ?? 0,
    /** Simulates a killed process: reservations are not returned. */
    die: () => store.close(),
    async [Symbol.asyncDispose]() {
      await budgets[Symbol.asyncDispose]();
      await store.close();
    },
  };
}

export function agent(budgets: object, more: object = {}): Agent {
  return { agentId: 'oslo', tenant: 'default', suspended: false, isDefault: false, config: AgentConfig.parse({ budgets, ...more }) };
}

/** A call with this number of input tokens and a maximum number of output tokens. */
export function call(input: number, output: number): Call {
  return { model: PRICED, messages: [{ role: 'user', text: 'x'.repeat(4 * input) }], maxOutputTokens: output };
}

/** Makes calls that use exactly their reservation until one is rejected. Returns the tokens used. */
export async function spend(budgets: Budgets, of: Agent, { input, output }: { input: number; output: number }): Promise<number> {
  const budget = budgets.of({ tenant: 'default' }, of);
  for (let tokens = 0; ; tokens += input + output) {
    const reserved: Reserved | undefined = await budget.reserve(call(input, output)).catch(() => undefined);
    if (!reserved) return tokens;
    await new Promise((resolve) => void setImmediate(resolve));
    reserved.settle({ tokens: input + output, costUsd: 0 });
  }
}
