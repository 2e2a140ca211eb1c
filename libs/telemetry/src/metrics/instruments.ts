import type { MetricDefinition } from './metric-definition.ts';
import { METRICS, metricDefinitions, type Labels, type MetricName, type NameOf } from './catalogue.ts';

/** One series that counts up. */
export interface Counter {
  add(value?: number): void;
}

/** One series of a distribution. */
export interface Histogram {
  record(value: number): void;
}

/** As many series has a metric at most; whatever comes later is counted together, as `other`. */
export const MOST_SERIES = 1_000;
const OTHER = 'other';

/**
 * A series of a counter, made when it is first asked for and the same one ever after: whoever counts often keeps it. Counting is an
 * addition, whether somebody reads the metrics or not.
 */
export function counter<N extends NameOf<'counter'>>(name: N, labels: Labels<N>): Counter {
  return seriesOf(name, labels, createCounter) as CounterSeries;
}

/** A series of a histogram; same rules as `counter`. */
export function histogram<N extends NameOf<'histogram'>>(name: N, labels: Labels<N>): Histogram {
  const { bounds }: { bounds: readonly number[] } = METRICS[name];
  return seriesOf(name, labels, () => createHistogram(bounds)) as HistogramSeries;
}

/**
 * A number that is read when somebody asks for the metrics. What several observe under the same labels is added up. Returns what
 * ends it. Reading must be quick and must not throw; a number that is none is left out.
 */
export function observe<N extends NameOf<'gauge' | 'counter'>>(name: N, labels: Labels<N>, read: () => number): () => void {
  const series = seriesOf(name, labels, createObserved) as ObservedSeries;
  series.readers.add(read);
  return () => void series.readers.delete(read);
}

/** A metric with all that is known of it now. */
export interface Family {
  name: MetricName;
  definition: MetricDefinition;
  points: Point[];
}

/** One series. The values of the labels stand in the order in which the labels are declared. */
export type Point = { labels: readonly string[] } & (
  | { value: number }
  | { count: number; sum: number; /** Of each bucket alone, the last one for all above the last bound. */ buckets: readonly number[] }
);

/** Everything that was counted so far. */
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
  /** Undefined where there is nothing to say. */
  read(): Value | undefined;
}
type CounterSeries = Counter & Pick<Series, 'read'>;
type HistogramSeries = Histogram & Pick<Series, 'read'>;
type ObservedSeries = { readers: Set<() => number> } & Pick<Series, 'read'>;

/** In the order of their declaration, so that every reader sees the same. */
const all = new Map<string, Map<string, Series>>(Object.keys(METRICS).map((name) => [name, new Map<string, Series>()]));

function seriesOf(name: MetricName, labels: Readonly<Record<string, string>>, create: () => Pick<Series, 'read'>): unknown {
  const known = all.get(name);
  if (!known) throw new TypeError(`there is no metric ${name}`);
  const wanted = METRICS[name].labels.map((label) => labels[label] ?? '');
  const values = known.size < MOST_SERIES || known.has(keyOf(wanted)) ? wanted : wanted.map(() => OTHER);
  const key = keyOf(values);
  let series = known.get(key);
  if (series === undefined) known.set(key, (series = Object.assign(create(), { labels: values })));
  return series;
}

function keyOf(values: readonly string[]): string {
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
      // There are a dozen: walking is quicker than halving, as most values are small.
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
