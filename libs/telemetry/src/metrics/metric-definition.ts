/** What a metric promises whoever reads it. The name is OpenTelemetry's; Prometheus sees the one of `prometheusName`. */
export interface MetricDefinition {
  kind: 'counter' | 'gauge' | 'histogram';
  /** As UCUM writes it: `s`, `By`, `1`; in braces what is counted. */
  unit: string;
  help: string;
  /** What tells the series apart. Their values are few: no ids, no text of a client. */
  labels: readonly string[];
  /** Of a histogram: the upper bounds of its buckets, rising. */
  bounds?: readonly number[];
}

/** What prometheus calls the unit, where it belongs into the name. */
const SUFFIXES: ReadonlyMap<string, string> = new Map([
  ['s', '_seconds'],
  ['By', '_bytes'],
  ['1', '_ratio'],
  ['USD', '_usd'],
]);

/** `gen_ai.client.operation.duration` in seconds is `gen_ai_client_operation_duration_seconds`; what counts up ends in `_total`. */
export function prometheusName(name: string, { kind, unit }: Pick<MetricDefinition, 'kind' | 'unit'>): string {
  return `${prometheusLabel(name)}${SUFFIXES.get(unit) ?? ''}${kind === 'counter' ? '_total' : ''}`;
}

/** `http.route` is `http_route`. */
export function prometheusLabel(name: string): string {
  return name.replaceAll('.', '_');
}
