import { z } from 'zod';
import { isJson } from './json-field.ts';

/** Returns true only for values that the schema accepts unchanged. After false, the schema decides. */
export type FastValidator = (value: unknown) => boolean;

const REJECT_ALL: FastValidator = () => false;

/** Creates a validator for simple values that is many times faster than the schema. */
export function createFastValidator(type: z.ZodType): FastValidator {
  if (isJson(type)) return REJECT_ALL;
  if (type instanceof z.ZodOptional) {
    const accepts = createFastValidator(type.unwrap() as z.ZodType);
    // A default inside of the optional changes undefined.
    return type.safeParse(undefined).data === undefined ? acceptEmpty(undefined, accepts) : accepts;
  }
  if (type instanceof z.ZodNullable) return acceptEmpty(null, createFastValidator(type.unwrap() as z.ZodType));
  if (type instanceof z.ZodNumber) return createNumberValidator(type);
  if ((type.def.checks ?? []).length > 0) return REJECT_ALL;
  if (type instanceof z.ZodString) return 'format' in type.def ? REJECT_ALL : (value) => typeof value === 'string';
  if (type instanceof z.ZodBoolean) return (value) => typeof value === 'boolean';
  if (type instanceof z.ZodEnum) return createEnumValidator(type.options);
  if (type instanceof z.ZodLiteral) return createEnumValidator([...type.values]);
  if (type instanceof z.ZodArray) return createArrayValidator(createFastValidator(type.element as z.ZodType));
  if (type instanceof z.ZodObject) return createObjectValidator(type);
  return REJECT_ALL;
}

function acceptEmpty(nothing: null | undefined, accepts: FastValidator): FastValidator {
  return (value) => value === nothing || accepts(value);
}

const BOUNDS = new Set<unknown>([-Infinity, Number.MIN_SAFE_INTEGER, 0, Number.MAX_SAFE_INTEGER, Infinity]);

/** Supports any number and integers, optionally not negative or positive. */
function createNumberValidator({ minValue, maxValue, isInt, format, def }: z.ZodNumber): FastValidator {
  const checks = (def.checks ?? []).map((one) => one._zod.def as { check: string; inclusive?: boolean });
  if (!BOUNDS.has(minValue) || !BOUNDS.has(maxValue) || (format !== null && format !== 'safeint')) return REJECT_ALL;
  if (maxValue === 0 || checks.some(({ check }) => check !== 'greater_than')) return REJECT_ALL;
  const zero = checks.every(({ inclusive }) => inclusive === true);
  const isNumber = isInt ? Number.isSafeInteger : Number.isFinite;
  return (value) => isNumber(value) && (minValue !== 0 || (value as number) > 0 || (zero && value === 0));
}

function createEnumValidator(values: readonly unknown[]): FastValidator {
  const taken = new Set(values);
  return (value) => taken.has(value);
}

function createArrayValidator(accepts: FastValidator): FastValidator {
  return (value) => {
    if (!Array.isArray(value)) return false;
    // JSON has no array holes.
    for (let at = 0; at < value.length; at += 1) if (value[at] === undefined || !accepts(value[at])) return false;
    return true;
  };
}

/** Rejects objects with undeclared fields, whose handling depends on the schema. */
function createObjectValidator({ shape }: z.ZodObject): FastValidator {
  const fields = Object.entries(shape).map(([name, type]) => [name, createFastValidator(type as z.ZodType)] as const);
  const names: ReadonlySet<string> = new Set(fields.map(([name]) => name));
  return (value) => {
    if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return false;
    const options = value as Record<string, unknown>;
    for (const name of Object.keys(options)) if (!names.has(name)) return false;
    return fields.every(([name, accepts]) => accepts(options[name]));
  };
}
