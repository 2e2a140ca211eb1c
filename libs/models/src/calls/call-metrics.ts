import { ServiceError } from '@switchyard/contracts';
import { counter, exportsEvents, histogram, startClientSpan, tracing, type Histogram } from '@switchyard/telemetry';
import type { ModelAnswer, ModelRef } from '../model/model.ts';
import { exportCallEvents, type CallAttributes } from './call-events.ts';

/** Label for names that are not in a catalogue, so that custom names create no metric series. */
const OTHER = 'other';
/** OpenTelemetry operation names. */
export type Operation = 'chat' | 'embeddings';

/** Metrics, span and events of one model call, with the OpenTelemetry names for generative AI. */
export interface CallMetrics {
  /** The traceparent header; undefined while tracing is off. */
  readonly traceparent: string | undefined;
  /** Sets the provider. The model name is only used as a label if a catalogue lists it. */
  setTarget(provider: string, listed: boolean): void;
  /** Counts a retry. */
  recordRetry(error: ServiceError): void;
  /** Records the time to the first chunk. */
  recordChunk(): void;
  /** Records tokens, cost, and why the answer ended. */
  recordAnswer(answer: Pick<ModelAnswer, 'usage' | 'costUsd'> & Partial<Pick<ModelAnswer, 'reason'>>): void;
  /** Ends the call. Later calls are ignored. */
  end(error?: unknown): void;
  /** Ends a call as cancelled if it has not ended. */
  cancel(): void;
}

/** Finish reasons in the words of the OpenTelemetry conventions. */
const FINISH_REASONS: Readonly<Record<ModelAnswer['reason'], string>> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_call',
  'content-filter': 'content_filter',
  other: 'other',
};

const ABANDONED = new ServiceError('CANCELLED', 'The reader of the model call has left.');

export interface CallMetricsOptions {
  operation?: Operation | undefined;
  /** The caller requested a streamed answer. */
  streams?: boolean | undefined;
}

export function startCallMetrics(
  { provider, modelId }: ModelRef,
  traceparent: string | undefined,
  { operation = 'chat', streams = false }: CallMetricsOptions = {},
): CallMetrics {
  const startedAt = performance.now();
  const attributes: CallAttributes = {
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': provider,
    'gen_ai.request.model': modelId,
    ...(streams ? { 'gen_ai.request.stream': true } : {}),
  };
  const span = startClientSpan(`${operation} ${modelId}`, { ...attributes }, traceparent);
  let series: ModelSeries | undefined;
  let labels: ModelLabels = { 'gen_ai.operation.name': operation, 'gen_ai.provider.name': OTHER, 'gen_ai.request.model': OTHER };
  let firstSeen = false;
  let ended = false;

  const seconds = (): number => (performance.now() - startedAt) / 1_000;
  const getOwnSeries = (): ModelSeries => (series ??= getSeries(labels));

  /** Adds attributes to the span and to the events. */
  function describe(more: CallAttributes): void {
    span.set(more);
    Object.assign(attributes, more);
  }

  function end(error?: unknown): void {
    if (ended) return;
    ended = true;
    const errorType = error === undefined ? '' : getErrorType(error);
    const duration = error === undefined ? getOwnSeries().duration : getDurationHistogram(labels, errorType);
    duration.record(seconds());
    span.end(error);
    if (exportsEvents()) exportCallEvents({ attributes, error, errorType, traceparent: span.traceparent });
  }

  return {
    traceparent: tracing() ? span.traceparent : undefined,
    setTarget(providerName, listed) {
      series = undefined;
      labels = { ...labels, 'gen_ai.provider.name': providerName, 'gen_ai.request.model': listed ? modelId : OTHER };
    },
    recordRetry(error) {
      counter('switchyard.model.retries', {
        'gen_ai.provider.name': labels['gen_ai.provider.name'],
        'error.type': getErrorType(error),
      }).add();
    },
    recordChunk() {
      if (firstSeen) return;
      firstSeen = true;
      getOwnSeries().first.record(seconds());
      if (streams && isDescribed()) describe({ 'gen_ai.response.time_to_first_chunk': seconds() });
    },
    recordAnswer({ usage, costUsd, reason }) {
      const { input, output } = getOwnSeries();
      input.record(usage.input);
      if (operation !== 'embeddings') output.record(usage.output);
      if (costUsd > 0) counter('switchyard.model.cost', labels).add(costUsd);
      if (isDescribed())
        describe({
          'gen_ai.usage.input_tokens': usage.input,
          'gen_ai.usage.output_tokens': usage.output,
          ...(usage.cacheRead === undefined ? {} : { 'gen_ai.usage.cache_read.input_tokens': usage.cacheRead }),
          ...(usage.cacheWrite === undefined ? {} : { 'gen_ai.usage.cache_write.input_tokens': usage.cacheWrite }),
          ...(reason === undefined ? {} : { 'gen_ai.response.finish_reasons': [FINISH_REASONS[reason]] }),
        });
    },
    end,
    cancel: () => end(ABANDONED),
  };
}

/** Whether a span or events are recorded, which need more than the metrics. */
function isDescribed(): boolean {
  return tracing() || exportsEvents();
}

interface ModelLabels {
  'gen_ai.operation.name': Operation;
  'gen_ai.provider.name': string;
  'gen_ai.request.model': string;
}

/** The metric series of one model. */
interface ModelSeries {
  duration: Histogram;
  first: Histogram;
  input: Histogram;
  output: Histogram;
}

const seriesByModel = new Map<string, ModelSeries>();

/** Returns the cached series. Their number is bounded by the catalogues. */
function getSeries(labels: ModelLabels): ModelSeries {
  const key = `${labels['gen_ai.operation.name']} ${labels['gen_ai.provider.name']}/${labels['gen_ai.request.model']}`;
  let series = seriesByModel.get(key);
  if (series === undefined) {
    const tokens = (type: 'input' | 'output') => histogram('gen_ai.client.token.usage', { ...labels, 'gen_ai.token.type': type });
    const first = histogram('gen_ai.client.operation.time_to_first_chunk', labels);
    seriesByModel.set(
      key,
      (series = { duration: getDurationHistogram(labels, ''), first, input: tokens('input'), output: tokens('output') }),
    );
  }
  return series;
}

function getDurationHistogram(labels: ModelLabels, error: string): Histogram {
  return histogram('gen_ai.client.operation.duration', { ...labels, 'error.type': error });
}

/** Returns the error reason or code as a label. */
function getErrorType(error: unknown): string {
  return error instanceof ServiceError ? (error.details.reason ?? error.code) : 'INTERNAL';
}
