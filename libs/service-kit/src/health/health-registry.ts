/** A dependency of the process. */
export interface Dependency {
  ready: boolean;
  /** Present while the dependency is not ready. */
  reason?: string;
  /** Epoch milliseconds of the last change. */
  since: number;
}

/** The body of `/readyz`: whether the process accepts work, and the state of each dependency. */
export interface Readiness {
  ready: boolean;
  status: 'ready' | 'unavailable' | 'draining';
  dependencies: Record<string, Dependency>;
}

/** Reports the health of one service, under its name. */
export interface HealthReporter {
  /** Sets the state of a dependency; `reason` explains why it is not ready. */
  set(dependency: string, ready: boolean, reason?: string): void;
  /**
   * Sets the state of a dependency without which only some calls fail, such as an external program. It is listed with the reason of its
   * outage, and the process stays ready.
   */
  setOptional(dependency: string, outage: string | undefined): void;
  /** Registers a dependency that is polled: `outage` returns the reason while it is not ready, otherwise undefined. */
  probe(dependency: string, outage: () => string | undefined): void;
  /** Returns the current readiness of the whole process. */
  readiness(): Readiness;
}

/** All dependencies of the process. */
export interface HealthRegistry extends HealthReporter {
  /** Returns a reporter that prefixes dependencies with the service name, so that services in one process do not collide. */
  reporter(service: string): HealthReporter;
  /** Marks the process as draining. */
  drain(): void;
  /** Calls the listener when a dependency changes its state. Changes of polled dependencies (`probe`) are noticed at the next read. Returns a function that unsubscribes it. */
  follow(listener: () => void): () => void;
}

export function createHealthRegistry(now: () => number = Date.now): HealthRegistry {
  const dependencies = new Map<string, Dependency>();
  const optional = new Set<string>();
  const probes = new Map<string, () => string | undefined>();
  const listeners = new Set<() => void>();
  let draining = false;

  function set(name: string, ready: boolean, reason?: string): void {
    const known = dependencies.get(name);
    const since = known?.ready === ready ? known.since : now();
    dependencies.set(name, ready ? { ready, since } : { ready, since, reason: reason ?? 'not ready' });
    if (known?.ready !== ready) notify();
  }

  function setOptional(name: string, outage: string | undefined): void {
    optional.add(name);
    set(name, outage === undefined, outage);
  }

  function notify(): void {
    for (const listener of listeners) listener();
  }

  function readiness(): Readiness {
    for (const [name, outage] of probes) {
      const reason = outage();
      set(name, reason === undefined, reason);
    }
    const ready = !draining && [...dependencies].every(([name, dependency]) => dependency.ready || optional.has(name));
    const status = draining ? 'draining' : ready ? 'ready' : 'unavailable';
    return { ready, status, dependencies: Object.fromEntries(dependencies) };
  }

  return {
    set,
    setOptional,
    readiness,
    reporter: (service) => ({
      set: (dependency, ready, reason) => set(`${service}.${dependency}`, ready, reason),
      setOptional: (dependency, outage) => setOptional(`${service}.${dependency}`, outage),
      probe: (dependency, outage) => void probes.set(`${service}.${dependency}`, outage),
      readiness,
    }),
    probe: (dependency, outage) => void probes.set(dependency, outage),
    drain() {
      draining = true;
      notify();
    },
    follow(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
