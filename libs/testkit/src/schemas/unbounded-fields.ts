import type { z } from 'zod';

type Schema = z.core.$ZodType;
type Def = z.core.$ZodTypes['_zod']['def'];

/** What has the size of its kind alone, or only ever what the schema itself names. */
const SMALL: ReadonlySet<string> = new Set(
  'number int boolean null undefined void nan never date literal enum success transform unknown any'.split(' '),
);

/**
 * Every place in a schema that may grow without an end: a text, a list, a set, a map or a record that has no maximum, each by its
 * path. What is opaque (`unknown`) is bounded by the message that carries it. Empty means that all of it is bounded.
 */
export function unbounded(schema: Schema): string[] {
  return [...new Set(walk(schema, '', new Set()))];
}

function walk(schema: Schema, path: string, above: ReadonlySet<Schema>): string[] {
  if (above.has(schema)) return [];
  const inside = new Set([...above, schema]);
  const own = isOpen(schema) ? [path === '' ? 'the whole' : path] : [];
  return [...own, ...partsOf(schema, path).flatMap(([at, part]) => walk(part, at, inside))];
}

/** Whether the schema itself, leaving aside what it contains, has no end. */
function isOpen(schema: Schema): boolean {
  const def = schema._zod.def as Def;
  switch (def.type) {
    case 'string':
    case 'template_literal':
    case 'array':
    case 'set':
    case 'map':
    case 'file':
      return !hasMaximum(schema);
    case 'record':
      return !hasMaximum(schema) && def.keyType._zod.values === undefined && !isOpaque(def.valueType);
    case 'tuple':
      return def.rest !== null && !hasMaximum(schema);
    case 'object':
      return def.catchall !== undefined && !isOpaque(def.catchall) && def.catchall._zod.def.type !== 'never';
    default:
      // A kind that this walk cannot look into is not known to be bounded.
      return !SMALL.has(def.type) && partsOf(schema, '').length === 0;
  }
}

/** Whether one of its checks says how long it may be. */
function hasMaximum({ _zod: { def, bag } }: Schema): boolean {
  const checks = (def.checks ?? []).map((check) => check._zod.def as { maximum?: unknown; length?: unknown; size?: unknown });
  return [bag, ...checks].some(({ maximum, length, size }) => [maximum, length, size].some((limit) => Number.isFinite(limit)));
}

function isOpaque({ _zod: { def } }: Schema): boolean {
  return def.type === 'unknown' || def.type === 'any';
}

/** What a schema is made of, each part with its path. */
function partsOf(schema: Schema, path: string): [string, Schema][] {
  const def = schema._zod.def as Def;
  const below = (name: string): string => (path === '' ? name : `${path}.${name}`);
  switch (def.type) {
    case 'object':
      return [
        ...Object.entries(def.shape as z.core.$ZodShape).map(([name, field]): [string, Schema] => [below(name), field]),
        ...(def.catchall === undefined ? [] : [[below('*'), def.catchall] as [string, Schema]]),
      ];
    case 'array':
      return [[`${path}[]`, def.element]];
    case 'set':
      return [[`${path}[]`, def.valueType]];
    case 'tuple':
      return [...def.items, ...(def.rest === null ? [] : [def.rest])].map((item, index) => [`${path}[${index}]`, item]);
    case 'record':
      return isOpaque(def.valueType) && !hasMaximum(schema) ? [] : named(def, below);
    case 'map':
      return named(def, below);
    case 'union':
      return def.options.map((option) => [path, option]);
    case 'intersection':
      return [def.left, def.right].map((side) => [path, side]);
    case 'pipe':
      return [def.in, def.out].map((side) => [path, side]);
    case 'lazy':
      return [[path, def.getter()]];
    default:
      return 'innerType' in def ? [[path, def.innerType]] : [];
  }
}

function named(def: { keyType: Schema; valueType: Schema }, below: (name: string) => string): [string, Schema][] {
  return [
    [below('<name>'), def.keyType],
    [below('*'), def.valueType],
  ];
}
