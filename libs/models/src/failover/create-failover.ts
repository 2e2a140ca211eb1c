import { DEV_PROVIDER } from '../dev/dev-provider.ts';
import type { ModelEnd, ModelRef, ModelRequest } from '../model/model.ts';
import { openAsked } from './chain-run.ts';
import { createBreakers } from './circuit-breakers.ts';
import type { Memory } from './model-chain.ts';
import { createKeyCooldowns } from './key-cooldowns.ts';
import type { Asker, Failover, FailoverDeps } from './failover.ts';
import { createProviderHealth } from './provider-health.ts';

/** The models of this process, as agents ask them: along their chains, past what fails. */
export function createFailover({ models, now, tell, log, answered = () => undefined }: FailoverDeps): Failover {
  const memory: Memory = { breakers: createBreakers(now), health: createProviderHealth(now), keys: createKeyCooldowns(now) };

  /** Asks one of the chain after another until one answers, or is left. None is asked after one that has told something. */
  async function along<E extends ModelEnd | undefined>(
    asker: Asker,
    request: ModelRequest,
    ask: (request: ModelRequest, onTold: () => void) => Promise<E>,
  ): Promise<E> {
    const asked = openAsked(memory, asker, request, {
      tell: (event) => tell(asker.tenant, event),
      warn: (fields, message) => log?.warn({ agentId: asker.agentId, ...fields }, message),
    });
    for (const one of asked.chain) {
      const { model } = one;
      const call = asked.begin(one);
      let told = false;
      try {
        const end = await ask(call.request, () => void (told = true));
        if (end === undefined) return end;
        call.succeeded();
        if (!isDevelopment(model)) answered(asker, { ...end, model });
        return { ...end, model };
      } catch (error) {
        call.failed(error, told);
      } finally {
        call.left();
      }
    }
    throw new Error('a chain is never empty, and its last failure is thrown');
  }

  return {
    for: (asker) => ({
      complete: (request) => along(asker, request, (one) => models.complete(one)),
      tell: (request, say) =>
        along(asker, request, (one, onTold) =>
          models.tell(one, (text, type) => {
            if (type === 'text') onTold();
            return say(text, type);
          }),
        ),
    }),
    forgetKeys: () => memory.keys.forgetAll(),
  };
}

function isDevelopment({ provider }: ModelRef): boolean {
  return provider === DEV_PROVIDER;
}
