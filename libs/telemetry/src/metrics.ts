import type { Attributes, Meter, MetricOptions } from '@opentelemetry/api';

export interface Counter {
  add(value: number, attributes?: Attributes): void;
}

export interface Histogram {
  record(value: number, attributes?: Attributes): void;
}

let meter: Meter | undefined;
/** Instruments belong to one meter; a new meter makes new ones. */
let generation = 0;

/** Turns metrics on, or off with undefined. */
export function setMeter(next: Meter | undefined): void {
  meter = next;
  generation++;
}

/** Counts up. May be made before telemetry starts; while it is off, counting costs one comparison. */
export function counter(name: string, options?: MetricOptions): Counter {
  const instrument = lazily((from) => from.createCounter(name, options));
  return { add: (value, attributes) => instrument()?.add(value, attributes) };
}

/** A distribution, such as durations in seconds. Same rules as `counter`. */
export function histogram(name: string, options?: MetricOptions): Histogram {
  const instrument = lazily((from) => from.createHistogram(name, options));
  return { record: (value, attributes) => instrument()?.record(value, attributes) };
}

function lazily<I>(create: (from: Meter) => I): () => I | undefined {
  let made: I | undefined;
  let madeIn = -1;
  return () => {
    if (meter === undefined) return undefined;
    if (madeIn !== generation) {
      made = create(meter);
      madeIn = generation;
    }
    return made;
  };
}
