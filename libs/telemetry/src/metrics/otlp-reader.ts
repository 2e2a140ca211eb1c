import { ValueType, type Attributes, type HrTime } from '@opentelemetry/api';
import type * as Metrics from '@opentelemetry/sdk-metrics';
import type { IMetricReader, MetricData, MetricProducer, PushMetricExporter } from '@opentelemetry/sdk-metrics';
import { collect, type Family, type Point } from './instruments.ts';

type Environment = Readonly<Record<string, string | undefined>>;
type Sdk = typeof Metrics;

const MINUTE_MS = 60_000;

/**
 * Pushes the metrics every `OTEL_METRIC_EXPORT_INTERVAL`. The SDK only exports: its own instruments cost as much per count as a short
 * call.
 */
export async function metricReader(env: Environment, scope: string): Promise<IMetricReader> {
  const sdk = await import('@opentelemetry/sdk-metrics');
  return new sdk.PeriodicExportingMetricReader({
    exporter: await openExporter(env),
    exportIntervalMillis: Number(env['OTEL_METRIC_EXPORT_INTERVAL']) || MINUTE_MS,
    metricProducers: [createProducer(sdk, scope)],
  });
}

/** The exporters read their endpoints and headers from the environment. */
async function openExporter(env: Environment): Promise<PushMetricExporter> {
  const protocol = env['OTEL_EXPORTER_OTLP_METRICS_PROTOCOL'] ?? env['OTEL_EXPORTER_OTLP_PROTOCOL'] ?? 'http/protobuf';
  switch (protocol) {
    case 'grpc':
      return new (await import('@opentelemetry/exporter-metrics-otlp-grpc')).OTLPMetricExporter();
    case 'http/json':
      return new (await import('@opentelemetry/exporter-metrics-otlp-http')).OTLPMetricExporter();
    case 'http/protobuf':
      return new (await import('@opentelemetry/exporter-metrics-otlp-proto')).OTLPMetricExporter();
    default:
      throw new Error('OTEL_EXPORTER_OTLP_PROTOCOL must be grpc, http/protobuf or http/json.');
  }
}

function createProducer(sdk: Sdk, scope: string): MetricProducer {
  const startTime = hrTime(Date.now());
  return {
    async collect() {
      const times = { startTime, endTime: hrTime(Date.now()) };
      const metrics = collect().map((family) => metricData(sdk, family, times));
      const { emptyResource } = await import('@opentelemetry/resources');
      return { resourceMetrics: { resource: emptyResource(), scopeMetrics: [{ scope: { name: scope }, metrics }] }, errors: [] };
    },
  };
}

interface Times {
  startTime: HrTime;
  endTime: HrTime;
}

function metricData({ AggregationTemporality, DataPointType }: Sdk, { name, definition, points }: Family, times: Times): MetricData {
  const { kind, unit, help: description, labels, bounds = [] } = definition;
  const data = {
    descriptor: { name, unit, description, valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  const attributed = <V>(point: Point, value: V) => ({ ...times, attributes: getAttributes(labels, point), value });
  if (kind === 'histogram') {
    const dataPoints = points.flatMap((point) =>
      'count' in point
        ? [attributed(point, { buckets: { boundaries: [...bounds], counts: [...point.buckets] }, sum: point.sum, count: point.count })]
        : [],
    );
    return { ...data, dataPointType: DataPointType.HISTOGRAM, dataPoints };
  }
  const dataPoints = points.flatMap((point) => ('value' in point ? [attributed(point, point.value)] : []));
  if (kind === 'gauge') return { ...data, dataPointType: DataPointType.GAUGE, dataPoints };
  return { ...data, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints };
}

function getAttributes(labels: readonly string[], point: Point): Attributes {
  return Object.fromEntries(labels.flatMap((label, at) => (point.labels[at] ? [[label, point.labels[at]]] : [])));
}

function hrTime(ms: number): HrTime {
  return [Math.floor(ms / 1e3), (ms % 1e3) * 1e6];
}
