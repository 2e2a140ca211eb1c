import { ServiceError } from '@switchyard/contracts';
import { counter, histogram, startSpan, tracing, type Span } from '@switchyard/telemetry';
import type { ModelPart, ModelRef, ModelUsage } from './model.ts';

/** Names that a client or an operator made up do not become series. */
const OTHER = 'other';
const OPERATION = 'chat';

/** One model call as it is counted and traced, under the names that OpenTelemetry has for generative models. */
export interface ModelCall {
  /** What the provider is told of the trace; nothing while tracing is off. */
  readonly traceparent: string | undefined;
  /** Who answers is known now. A model is named in the metrics where a catalogue lists it. */
  found(provider: string, listed: boolean): void;
  /** An attempt failed, and another one follows. */
  retried(error: ServiceError): void;
  saw(part: ModelPart): void;
  /** Once; later ends change nothing. */
  end(error?: unknown): void;
  /** Nobody listens any more: one that has not ended is cancelled. */
  leave(): void;
}

const LEFT = new ServiceError('CANCELLED', 'Nobody listens any more.');

export function beginModelCall({ provider, modelId }: ModelRef, traceparent: string | undefined): ModelCall {
  const startedAt = performance.now();
  const span = startSpan(
    `${OPERATION} ${modelId}`,
    { 'gen_ai.operation.name': OPERATION, 'gen_ai.provider.name': provider, 'gen_ai.request.model': modelId },
    traceparent,
  );
  const labels = { 'gen_ai.operation.name': OPERATION, 'gen_ai.provider.name': OTHER, 'gen_ai.request.model': OTHER };
  let heard = false;
  let ended = false;

  const seconds = (): number => (performance.now() - startedAt) / 1_000;

  function end(error?: unknown): void {
    if (ended) return;
    ended = true;
    const type = error === undefined ? '' : typeOf(error);
    histogram('gen_ai.client.operation.duration', { ...labels, 'error.type': type }).record(seconds());
    span.end(error);
  }

  return {
    traceparent: tracing() ? span.traceparent : undefined,
    found(named, listed) {
      labels['gen_ai.provider.name'] = named;
      if (listed) labels['gen_ai.request.model'] = modelId;
    },
    retried(error) {
      counter('switchyard.model.retries', { 'gen_ai.provider.name': labels['gen_ai.provider.name'], 'error.type': typeOf(error) }).add();
    },
    saw(part) {
      if (!heard) histogram('gen_ai.client.operation.time_to_first_chunk', labels).record(seconds());
      heard = true;
      if (part.type === 'finish') countUse(labels, part, span);
    },
    end,
    leave: () => end(LEFT),
  };
}

interface ModelLabels {
  'gen_ai.operation.name': string;
  'gen_ai.provider.name': string;
  'gen_ai.request.model': string;
}

function countUse(labels: ModelLabels, { usage, costUsd }: { usage: ModelUsage; costUsd: number }, span: Span): void {
  histogram('gen_ai.client.token.usage', { ...labels, 'gen_ai.token.type': 'input' }).record(usage.input);
  histogram('gen_ai.client.token.usage', { ...labels, 'gen_ai.token.type': 'output' }).record(usage.output);
  if (costUsd > 0) counter('switchyard.model.cost', labels).add(costUsd);
  span.set({ 'gen_ai.usage.input_tokens': usage.input, 'gen_ai.usage.output_tokens': usage.output });
}

/** Our own word for what went wrong: there are few of them. */
function typeOf(error: unknown): string {
  return error instanceof ServiceError ? (error.details.reason ?? error.code) : 'INTERNAL';
}
