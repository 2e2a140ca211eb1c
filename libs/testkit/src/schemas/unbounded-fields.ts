import type { z } from 'zod';

type Schema = z.core.$ZodType;
type Def = z.core.$ZodTypes['_zod']['def'];

/** Types with a fixed size or with values that the schema lists. */
const SMALL: ReadonlySet<string> = new Set(
  'number int boolean null undefined void nan never date literal enum success transform unknown any'.split(' '),
);

/**
 * Returns the paths of all texts, lists, sets, maps and records without a maximum. `unknown` values count as bounded, because the
 * message limit applies to them. An empty result means that the schema is bounded.
 */
export function unbounded(schema: Schema): string[] {
  return [...new Set(walk(schema, '', new Set()))];
}

function walk(schema: Schema, path: string, above: ReadonlySet<Schema>): string[] {
  if (above.has(schema)) return [];
  const inside = new Set([...above, schema]);
  const own = isOpen(schema) ? [path === '' ? 'the whole' : path] : [];
  return [...own, ...getParts(schema, path).flatMap(([at, part]) => walk(part, at, inside))];
}

/** Whether the schema itself, without its parts, is unbounded. */
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
      // Unknown types count as unbounded.
      return !SMALL.has(def.type) && getParts(schema, '').length === 0;
  }
}

/** Whether a check limits the size. */
function hasMaximum({ _zod: { def, bag } }: Schema): boolean {
  const checks = (def.checks ?? []).map((check) => check._zod.def as { maximum?: unknown; length?: unknown; size?: unknown });
  return [bag, ...checks].some(({ maximum, length, size }) => [maximum, length, size].some((limit) => Number.isFinite(limit)));
}

function isOpaque({ _zod: { def } }: Schema): boolean {
  return def.type === 'unknown' || def.type === 'any';
}

/** Lists the parts of a schema with their paths. */
function getParts(schema: Schema, path: string): [string, Schema][] {
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
