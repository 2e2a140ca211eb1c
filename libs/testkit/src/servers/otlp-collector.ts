import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A received span. */
export interface ReceivedSpan {
  /** Service name of the sending process. */
  service: string;
  name: string;
  traceId: string;
  spanId: string;
  /** Empty for a root span. */
  parentSpanId: string;
  /** The span is of a request to a remote server. */
  isClient: boolean;
  attributes: Readonly<Record<string, unknown>>;
  failed: boolean;
}

/** A received event. */
export interface ReceivedEvent {
  /** Service name of the sending process. */
  service: string;
  name: string;
  traceId: string;
  spanId: string;
  /** OpenTelemetry severity number: 9 is INFO, 13 is WARN. */
  severity: number;
  attributes: Readonly<Record<string, unknown>>;
}

/** The last received state of a metric of one service. */
export interface ReceivedMetric {
  service: string;
  name: string;
  unit: string;
  kind: 'sum' | 'gauge' | 'histogram';
  points: readonly { attributes: Readonly<Record<string, unknown>>; value: number }[];
}

/** An OpenTelemetry collector that receives spans, metrics and events as JSON over HTTP. */
export interface Collector extends AsyncDisposable {
  /** Environment variables that make a process export to this collector. */
  readonly env: Readonly<Record<string, string>>;
  readonly spans: readonly ReceivedSpan[];
  /** Events of processes that set `OTEL_LOGS_EXPORTER=otlp`. */
  readonly events: readonly ReceivedEvent[];
  metric(service: string, name: string): ReceivedMetric | undefined;
  /** Resolves once the condition holds. The condition is checked after each request. */
  until(isTrue: () => boolean): Promise<void>;
}

const ERROR_STATUS = 2;
const CLIENT_KIND = 3;

export async function startCollector(): Promise<Collector> {
  const spans: ReceivedSpan[] = [];
  const events: ReceivedEvent[] = [];
  const metrics = new Map<string, ReceivedMetric>();
  const waiting = new Set<() => void>();

  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      const { resourceSpans = [], resourceMetrics = [], resourceLogs = [] } = JSON.parse(body.toString()) as Sent;
      spans.push(...resourceSpans.flatMap(readSpans));
      events.push(...resourceLogs.flatMap(readEvents));
      for (const metric of resourceMetrics.flatMap(readMetrics)) metrics.set(`${metric.service} ${metric.name}`, metric);
      for (const look of waiting) look();
      response.setHeader('content-type', 'application/json').end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '50',
      OTEL_BLRP_SCHEDULE_DELAY: '50',
      OTEL_METRIC_EXPORT_INTERVAL: '500',
      OTEL_METRIC_EXPORT_TIMEOUT: '500',
    },
    spans,
    events,
    metric: (service, name) => metrics.get(`${service} ${name}`),
    until(isTrue) {
      return new Promise((resolve) => {
        const look = (): void => {
          if (!isTrue()) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      });
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface AttributeValue {
  stringValue?: string;
  intValue?: number;
  doubleValue?: number;
  boolValue?: boolean;
  arrayValue?: { values: AttributeValue[] };
}
interface Attribute {
  key: string;
  value: AttributeValue;
}
interface Resource {
  resource: { attributes: Attribute[] };
}
interface SentSpan {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  kind?: number;
  attributes?: Attribute[];
  status?: { code?: number };
}
interface SentPoints {
  dataPoints: { attributes?: Attribute[]; asDouble?: number; asInt?: number; count?: number | string }[];
}
interface SentMetric {
  name: string;
  unit: string;
  sum?: SentPoints;
  gauge?: SentPoints;
  histogram?: SentPoints;
}
interface SentEvent {
  eventName?: string;
  traceId?: string;
  spanId?: string;
  severityNumber?: number;
  attributes?: Attribute[];
}
interface Sent {
  resourceSpans?: (Resource & { scopeSpans: { spans: SentSpan[] }[] })[];
  resourceMetrics?: (Resource & { scopeMetrics: { metrics: SentMetric[] }[] })[];
  resourceLogs?: (Resource & { scopeLogs: { logRecords: SentEvent[] }[] })[];
}

function readSpans({ resource, scopeSpans }: NonNullable<Sent['resourceSpans']>[number]): ReceivedSpan[] {
  const service = getService(resource);
  return scopeSpans.flatMap((scope) =>
    scope.spans.map(({ name, traceId, spanId, parentSpanId = '', kind, attributes, status }) => ({
      service,
      name,
      traceId,
      spanId,
      parentSpanId,
      isClient: kind === CLIENT_KIND,
      attributes: readAttributes(attributes),
      failed: status?.code === ERROR_STATUS,
    })),
  );
}

function readEvents({ resource, scopeLogs }: NonNullable<Sent['resourceLogs']>[number]): ReceivedEvent[] {
  const service = getService(resource);
  return scopeLogs.flatMap((scope) =>
    scope.logRecords.map(({ eventName = '', traceId = '', spanId = '', severityNumber = 0, attributes }) => ({
      service,
      name: eventName,
      traceId,
      spanId,
      severity: severityNumber,
      attributes: readAttributes(attributes),
    })),
  );
}

function readMetrics({ resource, scopeMetrics }: NonNullable<Sent['resourceMetrics']>[number]): ReceivedMetric[] {
  const service = getService(resource);
  return scopeMetrics.flatMap((scope) =>
    scope.metrics.map(({ name, unit, sum, gauge, histogram }) => ({
      service,
      name,
      unit,
      kind: histogram ? 'histogram' : gauge ? 'gauge' : 'sum',
      points: (histogram ?? gauge ?? sum)?.dataPoints.map(readPoint) ?? [],
    })),
  );
}

/** Returns the value of a point; for a histogram its count. */
function readPoint({ attributes, asDouble, asInt, count }: SentPoints['dataPoints'][number]): ReceivedMetric['points'][number] {
  return { attributes: readAttributes(attributes), value: Number(count ?? asDouble ?? asInt) };
}

function getService({ attributes }: Resource['resource']): string {
  return String(readAttributes(attributes)['service.name']);
}

function readAttributes(attributes: readonly Attribute[] = []): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, readValue(value)]));
}

function readValue({ arrayValue, ...scalar }: AttributeValue): unknown {
  return arrayValue === undefined ? Object.values(scalar)[0] : arrayValue.values.map(readValue);
}
