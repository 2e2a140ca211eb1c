import { DEV_PROVIDER } from '../dev/dev-provider.ts';
import type { ModelPart, ModelRef, ModelRequest } from '../model.ts';
import { openAsked, type Asked } from './asked.ts';
import { createBreakers } from './breakers.ts';
import type { Memory } from './chain.ts';
import { createKeyCooldowns } from './key-cooldowns.ts';
import type { Answered, Failover, FailoverDeps } from './policy.ts';
import { createProviderHealth } from './provider-health.ts';

/** The models of this process, as agents ask them: along their chains, past what fails. */
export function createFailover({ models, now, tell, log, answered = () => undefined }: FailoverDeps): Failover {
  const memory: Memory = { breakers: createBreakers(now), health: createProviderHealth(now), keys: createKeyCooldowns(now) };
  return {
    for(asker) {
      const of = (request: ModelRequest): Asked =>
        openAsked(memory, asker, request, {
          tell: (event) => tell(asker.tenant, event),
          warn: (fields, message) => log?.warn({ agentId: asker.agentId, ...fields }, message),
        });
      return {
        stream(request) {
          const asked = of(request);
          const [only, next] = asked.chain;
          // Of development models nothing is remembered: where nobody else is asked either, there is nothing to see to.
          if (only && isDevelopment(only.model) && next === undefined) return models.stream(asked.begin(only).request);
          return along(models, asked, (answer) => answered(asker, answer));
        },
        async complete(request) {
          const asked = of(request);
          for (const one of asked.chain) {
            const call = asked.begin(one);
            try {
              const answer = await models.complete(call.request);
              call.succeeded();
              if (!isDevelopment(one.model)) answered(asker, { ...answer, model: one.model });
              return { ...answer, model: one.model };
            } catch (error) {
              call.failed(error, false);
            } finally {
              call.left();
            }
          }
          throw new Error('a chain is never empty, and its last failure is thrown');
        },
      };
    },
    forgetKeys: () => memory.keys.forgetAll(),
  };
}

function isDevelopment({ provider }: ModelRef): boolean {
  return provider === DEV_PROVIDER;
}

type Along = (answer: Answered) => void;

async function* along(models: FailoverDeps['models'], asked: Asked, answered: Along): AsyncGenerator<ModelPart, void, void> {
  for (const one of asked.chain) {
    const call = asked.begin(one);
    let told = false;
    try {
      for await (const part of models.stream(call.request)) {
        told ||= part.type !== 'reasoning';
        if (part.type === 'finish' && !isDevelopment(one.model)) answered({ ...part, model: one.model });
        yield part.type === 'finish' ? { ...part, model: one.model } : part;
      }
      call.succeeded();
      return;
    } catch (error) {
      call.failed(error, told);
    } finally {
      call.left();
    }
  }
}
