import { diag, DiagLogLevel, logs, trace } from '@opentelemetry/api';
import type { Logger } from './logger.ts';
import { observeProcess } from './metrics/process-metrics.ts';
import { setEventLogger } from './otel-events.ts';
import { setTracer } from './spans.ts';
import { setSampling } from './trace-context.ts';

/** Maximum delay of the shutdown by an unresponsive collector. */
const FLUSH_MS = 2_000;
const SCOPE = 'switchyard';
const MODULE = 'telemetry';

export interface Telemetry {
  readonly traces: boolean;
  readonly metrics: boolean;
  /** Events are exported only if `OTEL_LOGS_EXPORTER` is `otlp`, because there are as many as spans of model calls. */
  readonly events: boolean;
  /** Sends pending data within two seconds. Never fails. */
  shutdown(): Promise<void>;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Starts telemetry if an `OTEL_*` variable sets an endpoint or an exporter. Otherwise the SDK is not loaded and nothing is recorded.
 * Call it once per process. Throws an error with one sentence for an invalid endpoint.
 */
export async function startTelemetry(env: Environment, { service, log }: { service: string; log?: Logger }): Promise<Telemetry> {
  const requested = { traces: wants(env, 'TRACES'), metrics: wants(env, 'METRICS'), events: wantsEvents(env) };
  if (!requested.traces && !requested.metrics && !requested.events) return { ...requested, shutdown: () => Promise.resolve() };

  for (const name of ENDPOINTS) checkEndpoint(name, env[name]);
  if (requested.metrics) checkExporter(env['OTEL_METRICS_EXPORTER'] || OTLP);

  const { startNodeSdk } = await import('@opentelemetry/sdk-node');
  // Created first, so that invalid settings are reported before anything runs.
  const metricReaders = requested.metrics ? [await (await import('./metrics/otlp-reader.ts')).metricReader(env, SCOPE)] : [];
  const sdk = startNodeSdk({
    ...(requested.traces ? {} : { spanProcessors: [] }),
    metricReaders,
    ...(requested.events ? {} : { logRecordProcessors: [] }),
    // The SDK's own detectors would report the command line.
    resourceDetectors: [],
    resourceAttributes: { 'service.name': env['OTEL_SERVICE_NAME'] ?? service },
    logLevel: 'none',
  });
  if (log !== undefined) reportTo(log);
  setTracer(requested.traces ? trace.getTracer(SCOPE) : undefined);
  setEventLogger(requested.events ? logs.getLogger(SCOPE) : undefined);
  const unobserve = requested.metrics ? observeProcess() : undefined;
  setSampling(requested.traces ? sampling(env) : undefined);

  return {
    ...requested,
    async shutdown() {
      setTracer(undefined);
      setEventLogger(undefined);
      setSampling(undefined);
      await atMost(FLUSH_MS, sdk.shutdown(), log);
      unobserve?.();
    },
  };
}

const ENDPOINTS = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
  'OTEL_EXPORTER_OTLP_LOGS_ENDPOINT',
] as const;

/** The SDK accepts an invalid endpoint silently and sends nothing. */
function checkEndpoint(name: string, value: string | undefined): void {
  if (!value || /^https?:$/.test(URL.parse(value)?.protocol ?? '')) return;
  throw new Error(`${name} must be an http:// or https:// URL, such as http://127.0.0.1:4318.`);
}

const OTLP = 'otlp';

function checkExporter(exporter: string): void {
  if (exporter === OTLP) return;
  throw new Error('OTEL_METRICS_EXPORTER must be otlp or none; for Prometheus set SWITCHYARD_METRICS_PORT.');
}

function wants(env: Environment, signal: 'TRACES' | 'METRICS'): boolean {
  if (env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return false;
  const exporter = env[`OTEL_${signal}_EXPORTER`];
  if (exporter !== undefined && exporter !== '') return exporter !== 'none';
  return Boolean(env['OTEL_EXPORTER_OTLP_ENDPOINT'] ?? env[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`]);
}

function wantsEvents(env: Environment): boolean {
  const exporter = env['OTEL_LOGS_EXPORTER'] || 'none';
  if (env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true' || exporter === 'none') return false;
  if (exporter === OTLP) return true;
  throw new Error('OTEL_LOGS_EXPORTER must be otlp or none; it exports the events of model calls.');
}

/** Returns the sampler of `OTEL_TRACES_SAMPLER` for new traces. Continued traces follow their flag. */
function sampling(env: Environment): (traceId: string) => boolean {
  const sampler = env['OTEL_TRACES_SAMPLER'] ?? 'parentbased_always_on';
  if (sampler.endsWith('always_off')) return () => false;
  if (!sampler.endsWith('traceidratio')) return () => true;
  const share = Number(env['OTEL_TRACES_SAMPLER_ARG'] ?? 1);
  return (traceId) => Number.parseInt(traceId.slice(-8), 16) < share * 2 ** 32;
}

/** Writes export failures to the log instead of the console. */
function reportTo(parent: Logger): void {
  const log = parent.child({ module: MODULE });
  const report = (message: string, ...rest: unknown[]): void => log.warn({ rest }, message);
  diag.setLogger(
    { error: report, warn: report, info: drop, debug: drop, verbose: drop },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}

function drop(): void {
  // Messages below a warning are internal to the SDK.
}

async function atMost(ms: number, work: Promise<void>, log: Logger | undefined): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, ms);
  const flushed = work.catch((err: unknown) =>
    log?.child({ module: MODULE }).warn({ err }, 'the last spans, metrics and events were not sent'),
  );
  await Promise.race([flushed, late.promise]);
  clearTimeout(timer);
}
