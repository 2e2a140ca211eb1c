import { metricDefinitions, prometheusLabel, prometheusName, type MetricDefinition } from '@switchyard/telemetry';

/** The page of the reference that lists every metric, made from the declarations. */
export function metricsPage(): string {
  return `# Metrics

Written by \`make generate\` from [the declarations](../../libs/telemetry/src/metrics/catalogue.ts); do not edit it.

The first name is the one that Prometheus reads from \`/metrics\`, the second the one that a collector of OpenTelemetry gets. A histogram has \`_bucket\`, \`_sum\` and \`_count\` behind its name. No label holds an id, or what a client wrote; a metric has at most a thousand series, and what would come beyond is counted as \`other\`. [Watching](../guide/watching.md) says how they are reached, and what to look at.

| Prometheus | OpenTelemetry | Kind | Unit | Labels | Means |
| --- | --- | --- | --- | --- | --- |
${[...metricDefinitions].map(([name, definition]) => row(name, definition)).join('\n')}
`;
}

function row(name: string, definition: MetricDefinition): string {
  const { kind, unit, labels, help } = definition;
  const cells = [
    code(prometheusName(name, definition)),
    code(name),
    kind,
    unit,
    labels.map((label) => code(prometheusLabel(label))).join(' '),
    help,
  ];
  return `| ${cells.join(' | ')} |`;
}

function code(text: string): string {
  return `\`${text}\``;
}
