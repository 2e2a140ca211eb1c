import { DEV_PROVIDER } from '../dev/dev-provider.ts';
import type { ModelEnd, ModelRef, ModelRequest } from '../model/model.ts';
import { startChainRun } from './chain-run.ts';
import { createCircuitBreakers } from './circuit-breakers.ts';
import type { FailoverState } from './model-chain.ts';
import { createKeyCooldowns } from './key-cooldowns.ts';
import type { FailoverContext, Failover, FailoverDeps } from './failover.ts';
import { createProviderHealth } from './provider-health.ts';

/** Creates the failover of this process. Its state is shared by all agents. */
export function createFailover({ models, now, publish, log, onAnswered = () => undefined }: FailoverDeps): Failover {
  const state: FailoverState = { breakers: createCircuitBreakers(now), health: createProviderHealth(now), keys: createKeyCooldowns(now) };

  /** Tries the candidates until one responds or is stopped. No candidate is tried after text was sent. */
  async function runChain<E extends ModelEnd | undefined>(
    context: FailoverContext,
    request: ModelRequest,
    sendRequest: (request: ModelRequest, onTextSent: () => void) => Promise<E>,
  ): Promise<E> {
    const chainRun = startChainRun(state, context, request, {
      publish: (event) => publish(context.tenant, event),
      warn: (fields, message) => log?.warn({ agentId: context.agentId, ...fields }, message),
    });
    for (const one of chainRun.chain) {
      const { model } = one;
      const call = chainRun.start(one);
      let textSent = false;
      try {
        const end = await sendRequest(call.request, () => void (textSent = true));
        if (end === undefined) return end;
        call.recordSuccess();
        if (!isDevelopment(model)) onAnswered(context, { ...end, model });
        return { ...end, model };
      } catch (error) {
        call.recordFailure(error, textSent);
      } finally {
        call.release();
      }
    }
    throw new Error('the chain is empty');
  }

  return {
    forAgent: (context) => ({
      complete: (request) => runChain(context, request, (one) => models.complete(one)),
      streamTo: (request, onDelta) =>
        runChain(context, request, (one, onTextSent) =>
          models.streamTo(one, (text, type) => {
            if (type === 'text') onTextSent();
            return onDelta(text, type);
          }),
        ),
    }),
    clearKeyCooldowns: () => state.keys.clear(),
  };
}

function isDevelopment({ provider }: ModelRef): boolean {
  return provider === DEV_PROVIDER;
}
