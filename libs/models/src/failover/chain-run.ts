import { DEV_PROVIDER } from '../dev/dev-provider.ts';
import type { ModelRequest } from '../model/model.ts';
import { chainOf, nameOf, type Candidate, type Memory } from './model-chain.ts';
import { faultOf } from './fault-classification.ts';
import type { Asker, Tell } from './failover.ts';

/** One request, on its way along a chain. */
export interface Asked {
  chain: readonly Candidate[];
  begin(candidate: Candidate): Call;
}

/** One candidate that is asked. */
interface Call {
  request: ModelRequest;
  succeeded(): void;
  /** Returns where the next one of the chain is to be asked, which is never after something was told. */
  failed(error: unknown, told: boolean): void;
  /** Last; says something only where the call had no other end. */
  left(): void;
}

export interface Watching {
  tell: Tell;
  warn: (fields: object, message: string) => void;
}

/** A provider's failure as it stands in an event. */
const MOST_CHARS = 500;

export function openAsked(memory: Memory, asker: Asker, request: ModelRequest, { tell, warn }: Watching): Asked {
  const { config } = asker;
  const chain = chainOf(memory, asker, request.model);
  let begun = 0;

  function goOn(error: unknown, from: Candidate): void {
    const to = chain[begun];
    if (to === undefined) {
      const { provider, modelId } = request.model;
      if (isOneModel(chain)) throw error;
      tell({ name: 'model:fallback_exhausted', payload: { provider, model: modelId, totalAttempts: begun, timestamp: Date.now() } });
      throw error;
    }
    warn(
      { model: nameOf(from.model), keyName: from.keyName, next: nameOf(to.model), nextKeyName: to.keyName, err: error },
      'model failed, asking the next',
    );
    if (nameOf(from.model) === nameOf(to.model)) return;
    tell({
      name: 'model:fallback_attempt',
      payload: {
        fromProvider: from.model.provider,
        fromModel: from.model.modelId,
        toProvider: to.model.provider,
        toModel: to.model.modelId,
        error: messageOf(error),
        attemptNumber: begun,
        timestamp: Date.now(),
      },
    });
  }

  return {
    chain,
    begin(candidate) {
      const { model, keyName } = candidate;
      const remembering = remember(memory, asker, candidate, tell);
      begun += 1;
      let ended = false;
      return {
        request: {
          ...request,
          model,
          ...(keyName === undefined ? {} : { keyName }),
          retry: retryOf(config.sdkRetry, begun === chain.length),
          promptTimeoutMs:
            begun === 1 ? request.promptTimeoutMs : Math.min(request.promptTimeoutMs, config.promptTimeout.retryPromptTimeoutMs),
        },
        succeeded() {
          ended = true;
          remembering.succeeded();
        },
        failed(error, told) {
          ended = !request.signal.aborted && remembering.failed(error);
          if (told || request.signal.aborted || !faultOf(error).elsewhere) throw error;
          goOn(error, candidate);
        },
        left: () => {
          if (!ended) remembering.left();
        },
      };
    },
  };
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, MOST_CHARS);
}

/** Who has somebody to ask after it is not asked twice. */
function retryOf(
  { enabled, maxRetries, baseDelayMs, maxDelayMs }: Asker['config']['sdkRetry'],
  last: boolean,
): NonNullable<ModelRequest['retry']> {
  return { attempts: enabled && last ? maxRetries + 1 : 1, baseMs: baseDelayMs, maxMs: maxDelayMs };
}

function isOneModel(chain: readonly Candidate[]): boolean {
  return new Set(chain.map(({ model }) => nameOf(model))).size === 1;
}

/** Development models fail when they are told to, and nothing is learned from that. */
function remember({ breakers, health, keys }: Memory, { tenant, agentId, config }: Asker, { model, keyName, name }: Candidate, tell: Tell) {
  const { provider } = model;
  if (provider === DEV_PROVIDER) return { succeeded: () => undefined, failed: () => true, left: () => undefined };
  breakers.begin(name);
  return {
    succeeded(): void {
      breakers.succeeded(name);
      health.succeeded(provider, tell);
      if (keyName !== undefined) keys.succeeded({ provider, keyName });
    },
    /** False for what says nothing of who was asked. */
    failed(error: unknown): boolean {
      const fault = faultOf(error);
      if (fault.provider) health.failed(provider, `${tenant} ${agentId}`, tell);
      if (fault.key && keyName !== undefined) keys.failed({ provider, keyName }, config.modelFailover, tell);
      if (fault.breaks) breakers.failed(name, config.circuitBreaker, messageOf(error));
      return fault.breaks;
    },
    left: () => breakers.left(name),
  };
}
