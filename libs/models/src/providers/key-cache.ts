import { isOauthTokenName, ServiceError } from '@switchyard/contracts';

/** A key by the name of its secret, and the origin that it is bound to, where it is bound to one. */
export interface WantedKey {
  keyName: string | undefined;
  keyOrigin: string | undefined;
}

/** Provider keys, kept for a while so that a turn does not ask for each. */
export interface Keys {
  get(wanted: WantedKey): Promise<string | undefined>;
  /** Until when, in epoch ms, what `get` said of these is what it says again; 0 when it would ask. */
  until(wanted: readonly WantedKey[]): number;
  /** A provider refused it: the next call asks again. */
  forget(name: string | undefined): void;
  /** Somebody set a secret: the next call asks again for each. */
  forgetAll(): void;
}

export interface KeysOptions {
  secret: (name: string, origin?: string) => Promise<string | null>;
  env: Readonly<Record<string, string | undefined>>;
  ttlMs: number;
}

interface Known {
  name: string;
  value: Promise<string | undefined>;
  until: number;
}

// A key that is set now is wanted now; that none is set is worth asking again soon.
const ABSENT_TTL_MS = 2_000;

export function createKeys({ secret, env, ttlMs }: KeysOptions): Keys {
  const known = new Map<string, Known>();

  async function read(name: string, origin: string | undefined): Promise<string | undefined> {
    // Where a sign-in may be kept is a setting, which the owner of secrets keeps to.
    return (await secret(name, origin)) || (isOauthTokenName(name) ? undefined : env[name]) || undefined;
  }

  return {
    async get({ keyName: name, keyOrigin: origin }) {
      if (name === undefined) return undefined;
      const place = placeOf(name, origin);
      const cached = known.get(place);
      if (cached !== undefined && cached.until > Date.now()) return cached.value;
      const entry = { name, value: read(name, origin), until: Date.now() + ttlMs };
      known.set(place, entry);
      entry.value.then(
        (value) => {
          if (value === undefined) entry.until = Math.min(entry.until, Date.now() + ABSENT_TTL_MS);
        },
        (error: unknown) => {
          if (isBoundElsewhere(error)) entry.until = Math.min(entry.until, Date.now() + ABSENT_TTL_MS);
          else known.delete(place);
        },
      );
      return entry.value;
    },
    until: (wanted) =>
      Math.min(
        ...wanted.map(({ keyName: name, keyOrigin }) =>
          name === undefined ? Infinity : (known.get(placeOf(name, keyOrigin))?.until ?? 0),
        ),
      ),
    forget(name) {
      for (const [place, entry] of known) if (entry.name === name) known.delete(place);
    },
    forgetAll: () => known.clear(),
  };
}

function placeOf(name: string, origin: string | undefined): string {
  return origin === undefined ? name : `${name} ${origin}`;
}

/** The secrets service keeps it for another address; asked again, it would say the same. */
export function isBoundElsewhere(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.details['reason'] === 'KEY_ORIGIN';
}
