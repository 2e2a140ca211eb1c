import type { Adapter, Attempt } from '../model/adapter.ts';
import { DEV_PROVIDER } from '../dev/dev-provider.ts';
import { classify, type Callee, type Failure } from '../errors/provider-errors.ts';
import type { Keys } from '../providers/key-cache.ts';
import type {
  CatalogueEntry,
  EmbedAnswer,
  EmbedRequest,
  ModelAnswer,
  ModelEnd,
  ModelPart,
  ModelRef,
  ModelRequest,
  Say,
} from '../model/model.ts';
import { beginModelCall, type ModelCall, type Operation } from './call-metrics.ts';
import { createPace } from './slow-models.ts';
import { RETRY, retry, type RetryPolicy } from '../errors/retry.ts';
import { embedStep, beginStep, completeStep, isEnd, tellStep, type Step } from './model-step.ts';
import { createWatch, type Watch } from './stall-timer.ts';

/** What answers one call: the model, and who it belongs to. */
export interface Target {
  adapter: Adapter;
  callee: Callee;
  attempts: number;
  cost: CatalogueEntry['cost'] | undefined;
}
/** With the key of that name, where one is named. */
export type FindTarget = (ref: ModelRef, keyName?: string) => Promise<Target>;

export interface CallsOptions {
  find: FindTarget;
  keys: Keys;
  log?: { warn: (fields: object, message: string) => void };
  retry?: Pick<RetryPolicy, 'baseMs' | 'maxMs'>;
}

/** One model call, from its beginning to its end. */
interface UnderWay {
  request: Asking;
  watch: Watch;
  call: ModelCall;
  /** Who is asked, once that is known. */
  callee: Callee | undefined;
}

export interface Calls {
  stream(request: ModelRequest, attempts?: number): AsyncGenerator<ModelPart, void, void>;
  tell(request: ModelRequest, say: Say): Promise<ModelEnd | undefined>;
  complete(request: ModelRequest): Promise<ModelAnswer>;
  embed(request: EmbedRequest): Promise<EmbedAnswer>;
}

/** What every request of a model says. */
type Asking = Pick<ModelRequest, 'model' | 'signal' | 'promptTimeoutMs' | 'traceparent' | 'keyName' | 'retry'>;

/** One attempt, whatever is asked for. */
interface Try extends Pick<Attempt, 'signal' | 'onAlive' | 'number' | 'traceparent'> {
  provider: string;
  adapter: Adapter;
  cost: Target['cost'];
}

/** Calls models: finds who answers, tries again, watches over silence, counts. */
export function createCalls({ find, keys, log, retry: pauses = RETRY }: CallsOptions): Calls {
  const pace = createPace();

  function noticed(error: unknown, callee: Callee): Failure {
    const failure = classify(error, callee);
    if (failure.error.details.reason === 'PROVIDER_AUTH') keys.forget(callee.keyName);
    return failure;
  }

  function begin(request: Asking, operation?: Operation): UnderWay {
    const watch = createWatch(request.signal, request.promptTimeoutMs);
    return { request, watch, call: beginModelCall(request.model, request.traceparent, operation), callee: undefined };
  }

  /** What the call is told to have failed with: the silence or the leaving that ended it comes before what that led to. */
  function failed({ watch: { signal }, call, callee }: UnderWay, error: unknown): unknown {
    const cause: unknown = signal.aborted ? signal.reason : callee === undefined ? error : noticed(error, callee).error;
    call.end(cause);
    return cause;
  }

  function leave({ watch, call }: UnderWay): void {
    watch[Symbol.dispose]();
    call.leave();
  }

  /** Its work, to the one end that it has: nobody watches over it any more then. */
  async function toItsEnd<T>(underWay: UnderWay, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw failed(underWay, error);
    } finally {
      leave(underWay);
    }
  }

  /** Finds out who answers, and tries until one attempt begins as it should. */
  async function begun<T>(underWay: UnderWay, attempt: (one: Try) => Promise<T>, attempts?: number): Promise<T> {
    const { request, watch, call } = underWay;
    const { signal, alive: onAlive } = watch;
    signal.throwIfAborted();
    const { adapter, callee, cost, attempts: allowed } = await find(request.model, request.keyName);
    const { provider } = callee;
    underWay.callee = callee;
    call.found(provider, cost !== undefined || provider === DEV_PROVIDER);
    const given = { provider, adapter, cost, signal, onAlive, traceparent: call.traceparent };
    return retry({
      attempt: (number) => attempt({ ...given, number }),
      classify: (error) => noticed(error, callee),
      policy: policyOf(request, provider, { ...pauses, attempts: attempts ?? allowed }),
      signal,
      deadline: Date.now() + request.promptTimeoutMs,
      onRetry({ error, status }, pauseMs, tried) {
        call.retried(error);
        log?.warn({ ...request.model, reason: error.details.reason, status, attempt: tried, pauseMs }, 'model call failed, trying again');
      },
    });
  }

  return {
    async *stream(request, attempts) {
      const underWay = begin(request);
      const { call } = underWay;
      try {
        const step = await begun(underWay, (one) => beginStep(stepOf(one, request, false)), attempts);
        try {
          let said = step.first;
          for (; !isEnd(said); said = await step.next()) {
            call.saw();
            yield said;
          }
          for (const part of said) {
            call.saw();
            if (part.type === 'finish') call.used(part);
            yield part;
          }
        } finally {
          await step.leave();
        }
        call.end();
      } catch (error) {
        throw failed(underWay, error);
      } finally {
        leave(underWay);
      }
    },

    tell(request, say) {
      const underWay = begin(request);
      const { call } = underWay;
      return toItsEnd(underWay, async () => {
        const step = await begun(underWay, (one) => beginStep(stepOf(one, request, false)));
        call.saw();
        const end = await tellStep(step, say);
        if (end === undefined) return undefined;
        call.used(end);
        call.end();
        return end;
      });
    },

    async complete(request) {
      const startedAt = performance.now();
      const underWay = begin(request);
      const { call } = underWay;
      const whole = pace.whole(request);
      try {
        return await toItsEnd(underWay, async () => {
          const answer = await begun(underWay, (one) => completeStep(stepOf(one, request, whole)));
          call.saw();
          call.used(answer);
          call.end();
          return answer;
        });
      } finally {
        if (whole) pace.took(request, performance.now() - startedAt);
      }
    },

    embed(request) {
      const underWay = begin(request, 'embeddings');
      const { call } = underWay;
      return toItsEnd(underWay, async () => {
        const answer = await begun(underWay, ({ provider, adapter, cost, ...attempt }) =>
          embedStep({ provider, adapter, cost, attempt: { ...attempt, request } }),
        );
        call.used({ usage: { input: answer.tokens, output: 0 }, costUsd: answer.costUsd });
        call.end();
        return answer;
      });
    },
  };
}

/** The development models fail on purpose, and for a moment only. */
function policyOf({ retry: asked }: Asking, provider: string, usual: RetryPolicy): RetryPolicy {
  if (asked === undefined) return usual;
  const attempts = Math.min(usual.attempts, asked.attempts);
  return provider === DEV_PROVIDER ? { ...usual, attempts } : { ...asked, attempts };
}

function stepOf({ provider, adapter, cost, ...attempt }: Try, request: ModelRequest, whole: boolean): Step {
  return { provider, adapter, cost, attempt: { ...attempt, request, whole } };
}
