/** Definition of a metric. Names follow OpenTelemetry; `prometheusName` converts them. */
export interface MetricDefinition {
  kind: 'counter' | 'gauge' | 'histogram';
  /** UCUM unit: `s`, `By`, `1`, or the counted thing in braces. */
  unit: string;
  help: string;
  /** Label names. Their values must be few: no ids, no client texts. */
  labels: readonly string[];
  /** Ascending upper bounds of the buckets of a histogram. */
  bounds?: readonly number[];
}

/** Name suffixes of units in Prometheus. */
const SUFFIXES: ReadonlyMap<string, string> = new Map([
  ['s', '_seconds'],
  ['By', '_bytes'],
  ['1', '_ratio'],
  ['USD', '_usd'],
]);

/** Converts `gen_ai.client.operation.duration` in seconds to `gen_ai_client_operation_duration_seconds`; counters end in `_total`. */
export function prometheusName(name: string, { kind, unit }: Pick<MetricDefinition, 'kind' | 'unit'>): string {
  return `${prometheusLabel(name)}${SUFFIXES.get(unit) ?? ''}${kind === 'counter' ? '_total' : ''}`;
}

/** Converts `http.route` to `http_route`. */
export function prometheusLabel(name: string): string {
  return name.replaceAll('.', '_');
}
