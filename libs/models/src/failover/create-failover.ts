import { DEV_PROVIDER } from '../dev/dev-provider.ts';
import type { ModelPart, ModelRequest } from '../model.ts';
import { openAsked, type Asked } from './asked.ts';
import { createBreakers } from './breakers.ts';
import type { Memory } from './chain.ts';
import { createKeyCooldowns } from './key-cooldowns.ts';
import type { Failover, FailoverDeps } from './policy.ts';
import { createProviderHealth } from './provider-health.ts';

/** The models of this process, as agents ask them: along their chains, past what fails. */
export function createFailover({ models, now, tell, log }: FailoverDeps): Failover {
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
          if (only?.model.provider === DEV_PROVIDER && next === undefined) return models.stream(asked.begin(only).request);
          return along(models, asked);
        },
        async complete(request) {
          const asked = of(request);
          for (const one of asked.chain) {
            const call = asked.begin(one);
            try {
              const answer = await models.complete(call.request);
              call.succeeded();
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

async function* along(models: FailoverDeps['models'], asked: Asked): AsyncGenerator<ModelPart, void, void> {
  for (const one of asked.chain) {
    const call = asked.begin(one);
    let told = false;
    try {
      for await (const part of models.stream(call.request)) {
        told ||= part.type !== 'reasoning';
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
