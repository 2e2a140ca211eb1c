import { ServiceError } from '@switchyard/contracts';
import { counter, histogram, startSpan, tracing, type Histogram } from '@switchyard/telemetry';
import type { ModelAnswer, ModelRef } from '../model/model.ts';

/** Names that a client or an operator made up do not become series. */
const OTHER = 'other';
/** The names that OpenTelemetry has for what is asked of a model. */
export type Operation = 'chat' | 'embeddings';

/** One model call as it is counted and traced, under the names that OpenTelemetry has for generative models. */
export interface ModelCall {
  /** What the provider is told of the trace; nothing while tracing is off. */
  readonly traceparent: string | undefined;
  /** Who answers is known now. A model is named in the metrics where a catalogue lists it. */
  found(provider: string, listed: boolean): void;
  /** An attempt failed, and another one follows. */
  retried(error: ServiceError): void;
  /** Something of the answer is there. */
  saw(): void;
  /** All of it is there, and was counted. */
  used(use: Pick<ModelAnswer, 'usage' | 'costUsd'>): void;
  /** Once; later ends change nothing. */
  end(error?: unknown): void;
  /** Nobody listens any more: one that has not ended is cancelled. */
  leave(): void;
}

const LEFT = new ServiceError('CANCELLED', 'Nobody listens any more.');

export function beginModelCall({ provider, modelId }: ModelRef, traceparent: string | undefined, operation: Operation = 'chat'): ModelCall {
  const startedAt = performance.now();
  const span = startSpan(
    `${operation} ${modelId}`,
    { 'gen_ai.operation.name': operation, 'gen_ai.provider.name': provider, 'gen_ai.request.model': modelId },
    traceparent,
  );
  let series: ModelSeries | undefined;
  let labels: ModelLabels = { 'gen_ai.operation.name': operation, 'gen_ai.provider.name': OTHER, 'gen_ai.request.model': OTHER };
  let heard = false;
  let ended = false;

  const seconds = (): number => (performance.now() - startedAt) / 1_000;
  const counts = (): ModelSeries => (series ??= seriesOf(labels));

  function end(error?: unknown): void {
    if (ended) return;
    ended = true;
    const duration = error === undefined ? counts().duration : durationOf(labels, typeOf(error));
    duration.record(seconds());
    span.end(error);
  }

  return {
    traceparent: tracing() ? span.traceparent : undefined,
    found(named, listed) {
      series = undefined;
      labels = { ...labels, 'gen_ai.provider.name': named, 'gen_ai.request.model': listed ? modelId : OTHER };
    },
    retried(error) {
      counter('switchyard.model.retries', { 'gen_ai.provider.name': labels['gen_ai.provider.name'], 'error.type': typeOf(error) }).add();
    },
    saw() {
      if (!heard) counts().first.record(seconds());
      heard = true;
    },
    used({ usage, costUsd }) {
      const { input, output } = counts();
      input.record(usage.input);
      if (operation !== 'embeddings') output.record(usage.output);
      if (costUsd > 0) counter('switchyard.model.cost', labels).add(costUsd);
      if (tracing()) span.set({ 'gen_ai.usage.input_tokens': usage.input, 'gen_ai.usage.output_tokens': usage.output });
    },
    end,
    leave: () => end(LEFT),
  };
}

interface ModelLabels {
  'gen_ai.operation.name': Operation;
  'gen_ai.provider.name': string;
  'gen_ai.request.model': string;
}

/** What every call of a model that answers counts in. */
interface ModelSeries {
  duration: Histogram;
  first: Histogram;
  input: Histogram;
  output: Histogram;
}

const known = new Map<string, ModelSeries>();

/** Looked up once: there are as many as catalogues list models. */
function seriesOf(labels: ModelLabels): ModelSeries {
  const key = `${labels['gen_ai.operation.name']} ${labels['gen_ai.provider.name']}/${labels['gen_ai.request.model']}`;
  let series = known.get(key);
  if (series === undefined) {
    const tokens = (type: 'input' | 'output') => histogram('gen_ai.client.token.usage', { ...labels, 'gen_ai.token.type': type });
    const first = histogram('gen_ai.client.operation.time_to_first_chunk', labels);
    known.set(key, (series = { duration: durationOf(labels, ''), first, input: tokens('input'), output: tokens('output') }));
  }
  return series;
}

function durationOf(labels: ModelLabels, error: string): Histogram {
  return histogram('gen_ai.client.operation.duration', { ...labels, 'error.type': error });
}

/** Our own word for what went wrong: there are few of them. */
function typeOf(error: unknown): string {
  return error instanceof ServiceError ? (error.details.reason ?? error.code) : 'INTERNAL';
}
