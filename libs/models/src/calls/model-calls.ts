import type { Adapter, Attempt } from '../model/adapter.ts';
import { DEV_PROVIDER } from '../dev/dev-provider.ts';
import { classify, type Callee, type Failure } from '../errors/provider-errors.ts';
import type { KeyCache } from '../providers/key-cache.ts';
import type {
  CatalogueEntry,
  EmbedAnswer,
  EmbedRequest,
  ModelAnswer,
  ModelEnd,
  ModelPart,
  ModelRef,
  ModelRequest,
  OnDelta,
} from '../model/model.ts';
import { prepareImages } from './image-messages.ts';
import { startCallMetrics, type CallMetrics, type CallMetricsOptions } from './call-metrics.ts';
import { createSlowModels } from './slow-models.ts';
import { DEFAULT_RETRY_POLICY, retry, type RetryPolicy } from '../errors/retry.ts';
import { embedStep, beginStep, completeStep, isEnd, streamStep, type Step } from './model-step.ts';
import { createStallTimer, type StallTimer } from './stall-timer.ts';

/** The adapter, provider and price of one call. */
export interface Target {
  adapter: Adapter;
  callee: Callee;
  attempts: number;
  cost: CatalogueEntry['cost'] | undefined;
  /** Whether the model takes images. */
  takesImages: boolean;
}
/** Resolves the target of a model, optionally with another key. */
export type FindTarget = (ref: ModelRef, keyName?: string) => Promise<Target>;

export interface CallsOptions {
  find: FindTarget;
  keys: KeyCache;
  log?: { warn: (fields: object, message: string) => void };
  retry?: Pick<RetryPolicy, 'baseMs' | 'maxMs'>;
}

/** A running model call. */
interface ActiveCall {
  request: CallRequest;
  stallTimer: StallTimer;
  call: CallMetrics;
  /** The provider, once resolved. */
  callee: Callee | undefined;
}

export interface Calls {
  stream(request: ModelRequest, attempts?: number): AsyncGenerator<ModelPart, void, void>;
  streamTo(request: ModelRequest, onDelta: OnDelta): Promise<ModelEnd | undefined>;
  complete(request: ModelRequest): Promise<ModelAnswer>;
  embed(request: EmbedRequest): Promise<EmbedAnswer>;
}

/** Common fields of all requests. */
type CallRequest = Pick<ModelRequest, 'model' | 'signal' | 'promptTimeoutMs' | 'traceparent' | 'keyName' | 'retry'>;

/** The parameters of one attempt. */
interface CallAttempt extends Pick<Attempt, 'signal' | 'onAlive' | 'number' | 'traceparent'> {
  provider: string;
  adapter: Adapter;
  cost: Target['cost'];
  takesImages: boolean;
}

/** Creates model calls with retries, stall detection and metrics. */
export function createCalls({ find, keys, log, retry: pauses = DEFAULT_RETRY_POLICY }: CallsOptions): Calls {
  const slowModels = createSlowModels();

  function classifyFailure(error: unknown, callee: Callee): Failure {
    const failure = classify(error, callee);
    if (failure.error.details.reason === 'PROVIDER_AUTH') keys.invalidate(callee.keyName);
    return failure;
  }

  function begin(request: CallRequest, options?: CallMetricsOptions): ActiveCall {
    const stallTimer = createStallTimer(request.signal, request.promptTimeoutMs);
    return { request, stallTimer, call: startCallMetrics(request.model, request.traceparent, options), callee: undefined };
  }

  /** Ends the call with an error. A stall or cancellation takes precedence over the errors that it caused. */
  function endWithError({ stallTimer: { signal }, call, callee }: ActiveCall, error: unknown): unknown {
    const cause: unknown = signal.aborted ? signal.reason : callee === undefined ? error : classifyFailure(error, callee).error;
    call.end(cause);
    return cause;
  }

  function leave({ stallTimer, call }: ActiveCall): void {
    stallTimer[Symbol.dispose]();
    call.cancel();
  }

  /** Runs the call and stops its timer at the end. */
  async function runToEnd<T>(active: ActiveCall, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw endWithError(active, error);
    } finally {
      leave(active);
    }
  }

  /** Resolves the target and retries until an attempt starts successfully. */
  async function runAttempts<T>(active: ActiveCall, attempt: (callAttempt: CallAttempt) => Promise<T>, attempts?: number): Promise<T> {
    const { request, stallTimer, call } = active;
    const { signal, reset: onAlive } = stallTimer;
    signal.throwIfAborted();
    const { adapter, callee, cost, takesImages, attempts: maxAttempts } = await find(request.model, request.keyName);
    const { provider } = callee;
    active.callee = callee;
    call.setTarget(provider, cost !== undefined || provider === DEV_PROVIDER);
    const common = { provider, adapter, cost, takesImages, signal, onAlive, traceparent: call.traceparent };
    return retry({
      attempt: (number) => attempt({ ...common, number }),
      classify: (error) => classifyFailure(error, callee),
      policy: selectRetryPolicy(request, provider, { ...pauses, attempts: attempts ?? maxAttempts }),
      signal,
      deadline: Date.now() + request.promptTimeoutMs,
      onRetry({ error, status }, pauseMs, tried) {
        call.recordRetry(error);
        log?.warn({ ...request.model, reason: error.details.reason, status, attempt: tried, pauseMs }, 'model call failed; retrying');
      },
    });
  }

  return {
    async *stream(request, attempts) {
      const active = begin(request, { streams: true });
      const { call } = active;
      try {
        const started = await runAttempts(active, (callAttempt) => beginStep(createStep(callAttempt, request, false)), attempts);
        try {
          let item = started.first;
          for (; !isEnd(item); item = await started.next()) {
            call.recordChunk();
            yield item;
          }
          for (const part of item) {
            call.recordChunk();
            if (part.type === 'finish') call.recordAnswer(part);
            yield part;
          }
        } finally {
          await started.leave();
        }
        call.end();
      } catch (error) {
        throw endWithError(active, error);
      } finally {
        leave(active);
      }
    },

    streamTo(request, onDelta) {
      const active = begin(request, { streams: true });
      const { call } = active;
      return runToEnd(active, async () => {
        const started = await runAttempts(active, (callAttempt) => beginStep(createStep(callAttempt, request, false)));
        call.recordChunk();
        const end = await streamStep(started, onDelta);
        if (end === undefined) return undefined;
        call.recordAnswer(end);
        call.end();
        return end;
      });
    },

    async complete(request) {
      const startedAt = performance.now();
      const active = begin(request);
      const { call } = active;
      const nonStreaming = slowModels.allowsNonStreaming(request);
      try {
        return await runToEnd(active, async () => {
          const answer = await runAttempts(active, (callAttempt) => completeStep(createStep(callAttempt, request, nonStreaming)));
          call.recordChunk();
          call.recordAnswer(answer);
          call.end();
          return answer;
        });
      } finally {
        if (nonStreaming) slowModels.recordDuration(request, performance.now() - startedAt);
      }
    },

    embed(request) {
      const active = begin(request, { operation: 'embeddings' });
      const { call } = active;
      return runToEnd(active, async () => {
        const answer = await runAttempts(active, ({ provider, adapter, cost, takesImages: _takesImages, ...attempt }) =>
          embedStep({ provider, adapter, cost, attempt: { ...attempt, request } }),
        );
        call.recordAnswer({ usage: { input: answer.tokens, output: 0 }, costUsd: answer.costUsd });
        call.end();
        return answer;
      });
    },
  };
}

/** Selects the retry policy. Development models fail on purpose and keep the default pauses. */
function selectRetryPolicy({ retry: limits }: CallRequest, provider: string, defaults: RetryPolicy): RetryPolicy {
  if (limits === undefined) return defaults;
  const attempts = Math.min(defaults.attempts, limits.attempts);
  return provider === DEV_PROVIDER ? { ...defaults, attempts } : { ...limits, attempts };
}

function createStep({ provider, adapter, cost, takesImages, ...attempt }: CallAttempt, request: ModelRequest, nonStreaming: boolean): Step {
  return { provider, adapter, cost, attempt: { ...attempt, request: prepareImages(request, takesImages), nonStreaming } };
}
