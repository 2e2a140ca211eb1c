import { isTree, type Tree } from './merge-patch.ts';

/** The renderer of a value. `json` is for lists, maps and values of several types. */
export type Kind = 'object' | 'boolean' | 'number' | 'string' | 'enum' | 'json';

export interface Field {
  kind: Kind;
  description: string | undefined;
  /** The values of an enum. */
  options: string[];
  properties: Readonly<Record<string, Tree>>;
  default: unknown;
  minimum: number | undefined;
  maximum: number | undefined;
}

/** Describes how a value of a JSON Schema is edited. References and schemas with one real alternative are resolved. */
export function describeField(root: Tree, schema: Tree): Field {
  const resolved = resolve(root, schema);
  const properties = isTree(resolved['properties']) ? (resolved['properties'] as Record<string, Tree>) : {};
  const text = (key: string): string | undefined => (typeof resolved[key] === 'string' ? resolved[key] : undefined);
  const bound = (key: string): number | undefined => (typeof resolved[key] === 'number' ? resolved[key] : undefined);
  return {
    kind: getKind(resolved, properties),
    description: text('description'),
    options: Array.isArray(resolved['enum']) ? resolved['enum'].map(String) : [],
    properties,
    default: resolved['default'],
    minimum: bound('minimum'),
    maximum: bound('maximum'),
  };
}

function getKind(schema: Tree, properties: Readonly<Record<string, Tree>>): Kind {
  const { type } = schema;
  if (Array.isArray(schema['enum']) && schema['enum'].every((value) => typeof value === 'string')) return 'enum';
  if (type === 'object') return Object.keys(properties).length > 0 && !isTree(schema['additionalProperties']) ? 'object' : 'json';
  if (type === 'boolean' || type === 'string') return type;
  return type === 'number' || type === 'integer' ? 'number' : 'json';
}

const MAX_REFERENCES = 16;

function resolve(root: Tree, schema: Tree): Tree {
  let current = schema;
  for (let depth = 0; depth < MAX_REFERENCES; depth += 1) {
    const { $ref: reference, description = current['description'] } = current;
    const alternatives = (current['anyOf'] ?? current['oneOf'] ?? current['allOf']) as readonly Tree[] | undefined;
    const present = alternatives?.filter(({ type }) => type !== 'null');
    const next = typeof reference === 'string' ? follow(root, reference) : present?.length === 1 ? present[0] : undefined;
    if (next === undefined) return current;
    current = { ...next, ...(description === undefined ? {} : { description }) };
  }
  return current;
}

function follow(root: Tree, reference: string): Tree | undefined {
  let target: unknown = root;
  for (const part of reference.replace(/^#\/?/, '').split('/')) {
    if (part !== '') target = isTree(target) && Object.hasOwn(target, part) ? target[part] : undefined;
  }
  return isTree(target) ? target : undefined;
}

/** The schema of a value below a section: a property, or an entry of a map. */
export function findSchema(root: Tree, names: readonly string[]): Tree {
  let schema: Tree = root;
  for (const name of names) {
    const { properties, additionalProperties } = schema;
    const next = isTree(properties) && Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
    if (!isTree(next)) return {};
    schema = next;
  }
  return schema;
}
