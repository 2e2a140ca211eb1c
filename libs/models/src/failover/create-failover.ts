import { DEV_PROVIDER } from '../dev/dev-provider.ts';
import type { ModelRef, ModelRequest } from '../model.ts';
import { openAsked, type Asked } from './asked.ts';
import { createBreakers } from './breakers.ts';
import type { Memory } from './chain.ts';
import { createKeyCooldowns } from './key-cooldowns.ts';
import type { Failover, FailoverDeps } from './policy.ts';

const NEVER_EMPTY = 'a chain is never empty, and its last failure is thrown';
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
        async tell(request, say) {
          const asked = of(request);
          for (const one of asked.chain) {
            const call = asked.begin(one);
            let told = false;
            try {
              const end = await models.tell(call.request, (text, type) => {
                told ||= type === 'text';
                return say(text, type);
              });
              if (end === undefined) return undefined;
              call.succeeded();
              if (!isDevelopment(one.model)) answered(asker, { ...end, model: one.model });
              return { ...end, model: one.model };
            } catch (error) {
              call.failed(error, told);
            } finally {
              call.left();
            }
          }
          throw new Error(NEVER_EMPTY);
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
          throw new Error(NEVER_EMPTY);
        },
      };
    },
    forgetKeys: () => memory.keys.forgetAll(),
  };
}

function isDevelopment({ provider }: ModelRef): boolean {
  return provider === DEV_PROVIDER;
}
