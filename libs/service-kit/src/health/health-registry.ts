/** One thing the process needs in order to work. */
export interface Dependency {
  ready: boolean;
  /** Present while it is not ready. */
  reason?: string;
  /** Epoch milliseconds of the last change. */
  since: number;
}

/** The body of `/readyz`: whether this process should get work now, and what is missing if not. */
export interface Readiness {
  ready: boolean;
  status: 'ready' | 'unavailable' | 'draining';
  dependencies: Record<string, Dependency>;
}

/** What a service says about itself, under its own name. */
export interface HealthReporter {
  /** `ready` starts true. A failing dependency says why; saying true again clears it. */
  set(dependency: string, ready: boolean, reason?: string): void;
  /** A dependency that is asked each time instead of reporting itself: why it is not ready, undefined while it is. */
  probe(dependency: string, outage: () => string | undefined): void;
  /** The whole process's, as it is now. */
  readiness(): Readiness;
}

/** Everything the process depends on, in one place. */
export interface HealthRegistry extends HealthReporter {
  /** Prefixes what is reported with the service's name, so that services in one process do not meet. */
  reporter(service: string): HealthReporter;
  /** From now on the process is on its way out. */
  drain(): void;
  /** Calls back when something became ready or ceased to be; what is only asked (`probe`) is noticed when somebody asks. Returns what ends it. */
  follow(listener: () => void): () => void;
}

export function createHealthRegistry(now: () => number = Date.now): HealthRegistry {
  const dependencies = new Map<string, Dependency>();
  const probes = new Map<string, () => string | undefined>();
  const listeners = new Set<() => void>();
  let draining = false;

  function set(name: string, ready: boolean, reason?: string): void {
    const known = dependencies.get(name);
    const since = known?.ready === ready ? known.since : now();
    dependencies.set(name, ready ? { ready, since } : { ready, since, reason: reason ?? 'not ready' });
    if (known?.ready !== ready) tell();
  }

  function tell(): void {
    for (const listener of listeners) listener();
  }

  function readiness(): Readiness {
    for (const [name, outage] of probes) {
      const reason = outage();
      set(name, reason === undefined, reason);
    }
    const ready = !draining && [...dependencies.values()].every((dependency) => dependency.ready);
    const status = draining ? 'draining' : ready ? 'ready' : 'unavailable';
    return { ready, status, dependencies: Object.fromEntries(dependencies) };
  }

  return {
    set,
    readiness,
    reporter: (service) => ({
      set: (dependency, ready, reason) => set(`${service}.${dependency}`, ready, reason),
      probe: (dependency, outage) => void probes.set(`${service}.${dependency}`, outage),
      readiness,
    }),
    probe: (dependency, outage) => void probes.set(dependency, outage),
    drain() {
      draining = true;
      tell();
    },
    follow(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
