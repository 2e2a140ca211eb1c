import { ServiceError } from '@switchyard/contracts';
import { createBreakers, type ModelRef, type Models } from '@switchyard/models';
import type { Clock } from '@switchyard/service-kit';
import type { Agent } from '../../agents/agent-directory.ts';
import { BUDGET_EXCEEDED } from '../../budgets/budgets.ts';

/** Selects the summarizer models of an agent, with a circuit breaker per model. */
export interface Summarisers {
  /**
   * Calls the requested model and, after a failure, the fallback providers of the agent. Returns undefined if all breakers are open.
   * Throws the error of the last model that was called.
   */
  ask<A>(wanted: SummarizerRequest, sendRequest: (model: ModelRef) => Promise<A>): Promise<A | undefined>;
}

export interface SummarizerRequest {
  tenant: string;
  agent: Agent;
  model: ModelRef;
  signal: AbortSignal;
}

export function createSummarisers({ models, clock }: { models: Pick<Models, 'find'>; clock: Pick<Clock, 'now'> }): Summarisers {
  const breakers = createBreakers(() => clock.now());

  async function candidates({ agent, model }: SummarizerRequest): Promise<ModelRef[]> {
    const { summarizerFallbackProviders: names } = agent.config.contextEngine.compaction;
    const others = await Promise.all(names.map((name) => models.find(name.includes('/') ? name : `${name}/${model.modelId}`)));
    return [model, ...others.flatMap((other) => other ?? [])];
  }

  return {
    async ask(wanted, ask) {
      const { tenant, agent, signal } = wanted;
      const { failureThreshold, resetTimeoutMs, halfOpenTimeoutMs } = agent.config.contextEngine.summarizerBreaker;
      const policy = { failureThreshold, resetTimeoutMs, halfOpenTimeoutMs };
      let failed: { error: unknown } | undefined;
      for (const model of await candidates(wanted)) {
        const name = JSON.stringify([tenant, agent.agentId, model.provider, model.modelId]);
        if (breakers.getRemainingMs(name, policy) > 0) continue;
        breakers.recordStart(name);
        try {
          const answer = await ask(model);
          breakers.recordSuccess(name);
          return answer;
        } catch (error) {
          // A cancelled call and an exhausted budget are no failures of the model.
          if (signal.aborted || isSpent(error) || !(error instanceof ServiceError)) {
            breakers.recordAbandoned(name);
            throw error;
          }
          breakers.recordFailure(name, policy, { message: error.message });
          failed = { error };
        }
      }
      if (failed) throw failed.error;
      return undefined;
    },
  };
}

function isSpent(error: unknown): boolean {
  return error instanceof ServiceError && error.details.reason === BUDGET_EXCEEDED;
}
