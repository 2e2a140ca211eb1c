import { prometheusLabel, prometheusName } from './metric-definition.ts';
import type { Family, Point } from './instruments.ts';

/** Content type of `exposition`. */
export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Formats metrics in the Prometheus text format. */
export function exposition(families: readonly Family[]): string {
  return families.map(family).join('');
}

function family({ name, definition, points }: Family): string {
  const called = prometheusName(name, definition);
  const labels = definition.labels.map(prometheusLabel);
  const lines = points.flatMap((point) => {
    const pairs = labels.flatMap((label, at) => (point.labels[at] ? [`${label}="${escaped(point.labels[at])}"`] : []));
    return 'value' in point
      ? [sample(called, pairs, point.value)]
      : distribution(called, pairs, { point, bounds: definition.bounds ?? [] });
  });
  return [`# HELP ${called} ${definition.help}`, `# TYPE ${called} ${definition.kind}`, ...lines, ''].join('\n');
}

interface Distribution {
  point: Extract<Point, { count: number }>;
  bounds: readonly number[];
}

/** Formats a histogram with cumulative buckets. */
function distribution(called: string, pairs: readonly string[], { point, bounds }: Distribution): string[] {
  let below = 0;
  const buckets = point.buckets.map((count, at) => {
    below += count;
    return sample(`${called}_bucket`, [...pairs, `le="${bounds[at] ?? '+Inf'}"`], below);
  });
  return [...buckets, sample(`${called}_sum`, pairs, point.sum), sample(`${called}_count`, pairs, point.count)];
}

function sample(name: string, pairs: readonly string[], value: number): string {
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}`;
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
