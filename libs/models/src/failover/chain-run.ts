import { ServiceError } from '@switchyard/contracts';
import { DEV_PROVIDER } from '../dev/dev-provider.ts';
import type { ModelRequest } from '../model/model.ts';
import { getBreakerNames, resolveChain, formatModelName, type Candidate, type FailoverState } from './model-chain.ts';
import { classifyFault } from './fault-classification.ts';
import type { FailoverContext, PublishEvent } from './failover.ts';

/** A request that is tried along a chain of models. */
export interface ChainRun {
  chain: readonly Candidate[];
  start(candidate: Candidate): CandidateCall;
}

/** The call of one candidate. */
interface CandidateCall {
  request: ModelRequest;
  recordSuccess(): void;
  /** Records a failure. Returns if the next candidate should be tried; throws otherwise, and always after text was sent. */
  recordFailure(error: unknown, textSent: boolean): void;
  /** Releases the call. Records an abandoned call if it had no other end. */
  release(): void;
}

export interface ChainRunHooks {
  publish: PublishEvent;
  warn: (fields: object, message: string) => void;
}

/** Maximum length of an error message in an event. */
const MAX_ERROR_CHARS = 500;

export function startChainRun(
  state: FailoverState,
  context: FailoverContext,
  request: ModelRequest,
  { publish, warn }: ChainRunHooks,
): ChainRun {
  const { config } = context;
  const chain = resolveChain(state, context, request.model);
  let startedCalls = 0;

  function moveToNext(error: unknown, from: Candidate): void {
    const to = chain[startedCalls];
    if (to === undefined) {
      const { provider, modelId } = request.model;
      if (hasSingleModel(chain)) throw error;
      publish({
        name: 'model:fallback_exhausted',
        payload: { provider, model: modelId, totalAttempts: startedCalls, timestamp: Date.now() },
      });
      throw error;
    }
    warn(
      { model: formatModelName(from.model), keyName: from.keyName, next: formatModelName(to.model), nextKeyName: to.keyName, err: error },
      'model failed; trying the next one',
    );
    if (formatModelName(from.model) === formatModelName(to.model)) return;
    publish({
      name: 'model:fallback_attempt',
      payload: {
        fromProvider: from.model.provider,
        fromModel: from.model.modelId,
        toProvider: to.model.provider,
        toModel: to.model.modelId,
        error: getMessage(error),
        attemptNumber: startedCalls,
        timestamp: Date.now(),
      },
    });
  }

  return {
    chain,
    start(candidate) {
      const { model, keyName } = candidate;
      const outcome = trackOutcome(state, context, candidate, publish);
      startedCalls += 1;
      let ended = false;
      return {
        request: {
          ...request,
          model,
          ...(keyName === undefined ? {} : { keyName }),
          retry: buildRetryPolicy(config.sdkRetry, startedCalls === chain.length),
          promptTimeoutMs:
            startedCalls === 1 ? request.promptTimeoutMs : Math.min(request.promptTimeoutMs, config.promptTimeout.retryPromptTimeoutMs),
        },
        recordSuccess() {
          ended = true;
          outcome.succeeded();
        },
        recordFailure(error, textSent) {
          ended = !request.signal.aborted && outcome.failed(error);
          if (textSent || request.signal.aborted || !classifyFault(error).triesNext) throw error;
          moveToNext(error, candidate);
        },
        release: () => {
          if (!ended) outcome.left();
        },
      };
    },
  };
}

function getMessage(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, MAX_ERROR_CHARS);
}

function getReason(error: unknown): string | undefined {
  return error instanceof ServiceError ? error.details.reason : undefined;
}

/** Builds the retry policy. Only the last candidate of a chain is retried. */
function buildRetryPolicy(
  { enabled, maxRetries, baseDelayMs, maxDelayMs }: FailoverContext['config']['sdkRetry'],
  last: boolean,
): NonNullable<ModelRequest['retry']> {
  return { attempts: enabled && last ? maxRetries + 1 : 1, baseMs: baseDelayMs, maxMs: maxDelayMs };
}

function hasSingleModel(chain: readonly Candidate[]): boolean {
  return new Set(chain.map(({ model }) => formatModelName(model))).size === 1;
}

/** Tracks the outcome of a candidate. Development models are not tracked, because they fail on purpose. */
function trackOutcome(
  { breakers, health, keys }: FailoverState,
  { tenant, agentId, config }: FailoverContext,
  candidate: Candidate,
  publish: PublishEvent,
) {
  const { model, keyName, name, clientName = name } = candidate;
  const { provider } = model;
  if (provider === DEV_PROVIDER) return { succeeded: () => undefined, failed: () => true, left: () => undefined };
  const names = getBreakerNames(candidate);
  const leave = (others: readonly string[]): void => others.forEach((one) => breakers.recordAbandoned(one));
  for (const one of names) breakers.recordStart(one);
  return {
    succeeded(): void {
      for (const one of names) breakers.recordSuccess(one);
      health.recordSuccess(provider, publish);
      if (keyName !== undefined) keys.recordSuccess({ provider, keyName });
    },
    /** Returns false if the failure is not caused by the model. */
    failed(error: unknown): boolean {
      const fault = classifyFault(error);
      if (fault.provider) health.recordFailure(provider, `${tenant} ${agentId}`, publish);
      if (fault.key && keyName !== undefined) keys.recordFailure({ provider, keyName }, config.modelFailover, publish);
      if (!fault.tripsBreaker) return false;
      const failed = fault.mayBeRequest ? clientName : name;
      breakers.recordFailure(failed, config.circuitBreaker, { message: getMessage(error), reason: getReason(error) });
      leave(names.filter((one) => one !== failed));
      return true;
    },
    left: () => leave(names),
  };
}
