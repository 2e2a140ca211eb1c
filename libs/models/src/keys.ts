/** Provider keys by the name of their secret, kept for a while so that a turn does not ask for each. */
export interface Keys {
  get(name: string | undefined): Promise<string | undefined>;
  /** Until when, in epoch ms, what `get` said of these is what it says again; 0 when it would ask. */
  until(names: readonly (string | undefined)[]): number;
  /** A provider refused it: the next call asks again. */
  forget(name: string | undefined): void;
  /** Somebody set a secret: the next call asks again for each. */
  forgetAll(): void;
}

export interface KeysOptions {
  secret: (name: string) => Promise<string | null>;
  env: Readonly<Record<string, string | undefined>>;
  ttlMs: number;
}

interface Known {
  value: Promise<string | undefined>;
  until: number;
}

// A key that is set now is wanted now; that none is set is worth asking again soon.
const ABSENT_TTL_MS = 2_000;

export function createKeys({ secret, env, ttlMs }: KeysOptions): Keys {
  const known = new Map<string, Known>();

  async function read(name: string): Promise<string | undefined> {
    return (await secret(name)) || env[name] || undefined;
  }

  return {
    async get(name) {
      if (name === undefined) return undefined;
      const cached = known.get(name);
      if (cached !== undefined && cached.until > Date.now()) return cached.value;
      const entry = { value: read(name), until: Date.now() + ttlMs };
      known.set(name, entry);
      entry.value.then(
        (value) => {
          if (value === undefined) entry.until = Math.min(entry.until, Date.now() + ABSENT_TTL_MS);
        },
        () => known.delete(name),
      );
      return entry.value;
    },
    until: (names) => Math.min(...names.map((name) => (name === undefined ? Infinity : (known.get(name)?.until ?? 0)))),
    forget(name) {
      if (name !== undefined) known.delete(name);
    },
    forgetAll: () => known.clear(),
  };
}
