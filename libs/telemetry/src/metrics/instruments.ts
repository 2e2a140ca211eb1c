import type { MetricDefinition } from './metric-definition.ts';
import { METRICS, metricDefinitions, type Labels, type MetricName, type NameOf } from './catalogue.ts';

/** One series of a counter. */
export interface Counter {
  add(value?: number): void;
}

/** One series of a histogram. */
export interface Histogram {
  record(value: number): void;
}

/** Maximum number of series of a metric; further label values are counted as `other`. */
export const MAX_SERIES = 1_000;
const OTHER = 'other';

/**
 * Returns the series of a counter for these labels; always the same one. Keep it if you count often. Counting is a single addition,
 * whether the metrics are read or not.
 */
export function counter<N extends NameOf<'counter'>>(name: N, labels: Labels<N>): Counter {
  return getSeries(name, labels, createCounter) as CounterSeries;
}

/** Returns the series of a histogram; same rules as `counter`. */
export function histogram<N extends NameOf<'histogram'>>(name: N, labels: Labels<N>): Histogram {
  const { bounds }: { bounds: readonly number[] } = METRICS[name];
  return getSeries(name, labels, () => createHistogram(bounds)) as HistogramSeries;
}

/**
 * Registers a value that is read on each collection. Values with the same labels are summed. Returns a function that unsubscribes it.
 * `read` must be fast and must not throw; values that are not finite are omitted.
 */
export function observe<N extends NameOf<'gauge' | 'counter'>>(name: N, labels: Labels<N>, read: () => number): () => void {
  const series = getSeries(name, labels, createObserved) as ObservedSeries;
  series.readers.add(read);
  return () => void series.readers.delete(read);
}

/** A metric with its current series. */
export interface Family {
  name: MetricName;
  definition: MetricDefinition;
  points: Point[];
}

/** One series. Label values are in the declared order of the labels. */
export type Point = { labels: readonly string[] } & (
  | { value: number }
  | {
      count: number;
      sum: number;
      /** Count per bucket, not cumulative; the last bucket is above the last bound. */ buckets: readonly number[];
    }
);

/** Returns all metrics with at least one series. */
export function collect(): Family[] {
  const collected: Family[] = [];
  for (const [name, series] of all) {
    const points = [...series.values()].flatMap((one) => {
      const value = one.read();
      return value === undefined ? [] : [{ labels: one.labels, ...value }];
    });
    const definition = metricDefinitions.get(name);
    if (points.length > 0 && definition) collected.push({ name: name as MetricName, definition, points });
  }
  return collected;
}

type Value = { value: number } | { count: number; sum: number; buckets: readonly number[] };

interface Series {
  labels: readonly string[];
  /** Returns undefined without a value. */
  read(): Value | undefined;
}
type CounterSeries = Counter & Pick<Series, 'read'>;
type HistogramSeries = Histogram & Pick<Series, 'read'>;
type ObservedSeries = { readers: Set<() => number> } & Pick<Series, 'read'>;

/** In declaration order, so that the output order is stable. */
const all = new Map<string, Map<string, Series>>(Object.keys(METRICS).map((name) => [name, new Map<string, Series>()]));

function getSeries(name: MetricName, labels: Readonly<Record<string, string>>, create: () => Pick<Series, 'read'>): unknown {
  const known = all.get(name);
  if (!known) throw new TypeError(`unknown metric ${name}`);
  const requestedItems = METRICS[name].labels.map((label) => labels[label] ?? '');
  const values = known.size < MAX_SERIES || known.has(getKey(requestedItems)) ? requestedItems : requestedItems.map(() => OTHER);
  const key = getKey(values);
  let series = known.get(key);
  if (series === undefined) known.set(key, (series = Object.assign(create(), { labels: values })));
  return series;
}

function getKey(values: readonly string[]): string {
  return values.join('\u0000');
}

function createCounter(): CounterSeries {
  let total = 0;
  return {
    add: (value = 1) => void (total += value),
    read: () => ({ value: total }),
  };
}

function createHistogram(bounds: readonly number[]): HistogramSeries {
  const buckets = Array.from({ length: bounds.length + 1 }, () => 0);
  let [count, sum] = [0, 0];
  return {
    record(value) {
      let at = 0;
      // With about a dozen bounds and mostly small values, a linear search is faster than a binary one.
      while (at < bounds.length && value > (bounds[at] as number)) at++;
      (buckets[at] as number)++;
      count++;
      sum += value;
    },
    read: () => ({ count, sum, buckets: [...buckets] }),
  };
}

function createObserved(): ObservedSeries {
  const readers = new Set<() => number>();
  return {
    readers,
    read() {
      const numbers = [...readers].map((read) => read()).filter((value) => Number.isFinite(value));
      return numbers.length === 0 ? undefined : { value: numbers.reduce((sum, value) => sum + value, 0) };
    },
  };
}
