import { z } from 'zod';

/** Names that reach into the prototype of an object when it is merged. */
export const UNSAFE_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * Refuses names that would reach into the prototypes of whoever merges what came, at any depth. A record leaves `__proto__` out
 * without a word, and takes the others: so what came is looked at before anything is read.
 */
export function safeKeys(): z.core.$ZodCheck<object> {
  const check = z.check<object>(() => undefined);
  check._zod.onattach.push(({ _zod: schema }) => {
    (schema.deferred ??= []).push(() => lookFirst(schema));
  });
  return check;
}

function lookFirst(schema: z.core.$ZodTypeInternals): void {
  const parse = schema.parse.bind(schema);
  schema.parse = (payload, context) => {
    const path = unsafePath(payload.value);
    if (path === undefined) return parse(payload, context);
    payload.issues.push({ code: 'unrecognized_keys', keys: path.slice(-1), path: path.slice(0, -1), input: payload.value });
    return payload;
  };
}

interface Place {
  value: unknown;
  key: string;
  above: Place | undefined;
}

/** Returns the path of the first unsafe name. It does not recurse, because untrusted input can be nested as deep as it is long. */
function unsafePath(root: unknown): string[] | undefined {
  const matches: Place[] = [{ value: root, key: '', above: undefined }];
  for (const place of matches) {
    const { value } = place;
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, inner] of Object.entries(value)) {
      if (UNSAFE_KEYS.has(key) && !Array.isArray(value)) return [...getPath(place), key];
      if (typeof inner === 'object' && inner !== null) matches.push({ value: inner, key, above: place });
    }
  }
  return undefined;
}

function getPath(place: Place): string[] {
  const path: string[] = [];
  for (let at = place; at.above !== undefined; at = at.above) path.push(at.key);
  return path.reverse();
}
