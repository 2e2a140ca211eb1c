import { z } from 'zod';

/**
 * A record has at most so many names. One that has more is refused by their number alone: none of its names and values is read,
 * as with an array that is longer than its `max`. The published schema says `maxProperties`.
 */
export function maxKeys(maximum: number): z.core.$ZodCheck<Record<string, unknown>> {
  const check = z.check<Record<string, unknown>>((payload) => {
    if (countKeys(payload.value) > maximum) payload.issues.push(createIssue(payload.value, maximum));
  });
  check._zod.onattach.push(({ _zod: schema }) => {
    schema.bag['maximum'] = maximum;
    (schema.deferred ??= []).push(() => checkSizeBeforeParsing(schema, maximum));
  });
  return check;
}

/** Returns the maximum number of keys of a record schema; undefined without one or for other schemas. */
export function readMaxKeys({ _zod: { def, bag } }: z.core.$ZodType): number | undefined {
  const maximum = def.type === 'record' ? bag['maximum'] : undefined;
  return typeof maximum === 'number' ? maximum : undefined;
}

/** The check runs after the entries are read. So the reading itself looks at their number first, and leaves the rest to the check. */
function checkSizeBeforeParsing(schema: z.core.$ZodTypeInternals, maximum: number): void {
  const parse = schema.parse.bind(schema);
  schema.parse = (payload, context) => (countKeys(payload.value) > maximum ? payload : parse(payload, context));
}

function countKeys(value: unknown): number {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value).length : 0;
}

function createIssue(input: Record<string, unknown>, maximum: number): z.core.$ZodRawIssue {
  return { code: 'too_big', origin: 'record', maximum, inclusive: true, input };
}
