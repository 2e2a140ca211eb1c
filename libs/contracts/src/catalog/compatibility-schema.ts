import type { JsonSchema } from '../definition/json-schema.ts';

/**
 * How two schemas are compared. `params`: all that was accepted must still be. `result`: all that is given now must be
 * what was promised; fields and words may be added, because readers pass over what they do not know.
 */
export type Direction = 'params' | 'result';

/** One side of a comparison, with the definitions its references lead to. */
interface Side {
  schema: JsonSchema;
  root: JsonSchema;
}

/** `inner` describes the values, `outer` what must take them all. */
interface Pair {
  inner: Side;
  outer: Side;
  path: string;
  direction: Direction;
  /** Pairs with references that are being compared further up: a schema that contains itself is compared once. */
  seen: ReadonlySet<string>;
}

const SILENT = new Set(['$schema', 'title', 'description', 'default', 'examples', 'definitions', 'deprecated', 'id']);
const KNOWN = new Set(
  'type enum const anyOf oneOf allOf $ref properties required additionalProperties propertyNames items additionalItems minItems maxItems maxProperties minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum'.split(
    ' ',
  ),
);

/** Lists the breaking changes between two versions of a schema; empty if there are none. */
export function findBreakingChanges(before: JsonSchema, after: JsonSchema, direction: Direction): string[] {
  const earlier = { schema: before, root: before };
  const later = { schema: after, root: after };
  const sides = direction === 'params' ? { inner: earlier, outer: later } : { inner: later, outer: earlier };
  return compare({ ...sides, path: '', direction, seen: new Set() });
}

function compare(pair: Pair): string[] {
  if (identical(pair)) return [];
  const { inner, outer } = pair;
  if (typeof inner.schema['$ref'] === 'string' || typeof outer.schema['$ref'] === 'string') return compareReferences(pair);
  if (Object.keys(outer.schema).every((keyword) => SILENT.has(keyword))) return [];
  const forms = getForms(inner.schema);
  if (forms) return compareForms(pair, forms);
  const accepted = getForms(outer.schema);
  if (accepted) return compareWithForms(pair, accepted);
  if (outer.schema.allOf) {
    return outer.schema.allOf.flatMap((part) => compare({ ...pair, outer: { ...outer, schema: part } }));
  }
  if (inner.schema.allOf) {
    return nearest(inner.schema.allOf.map((part) => compare({ ...pair, inner: { ...inner, schema: part } }))) ?? [];
  }
  return comparePlain(pair);
}

/** The alternatives of a schema; `type: ["string", "null"]` is two of them. */
function getForms(schema: JsonSchema): JsonSchema[] | undefined {
  const { type } = schema;
  return schema.anyOf ?? schema.oneOf ?? (Array.isArray(type) ? type.map((each) => ({ ...schema, type: each })) : undefined);
}

function compareForms(pair: Pair, forms: readonly JsonSchema[]): string[] {
  const added = pair.direction === 'result' ? forms.filter((form) => isNewWord(form, pair.outer.schema)) : [];
  return forms.filter((form) => !added.includes(form)).flatMap((form) => compare({ ...pair, inner: { ...pair.inner, schema: form } }));
}

function compareWithForms(pair: Pair, accepted: readonly JsonSchema[]): string[] {
  return nearest(accepted.map((form) => compare({ ...pair, outer: { ...pair.outer, schema: form } }))) ?? [];
}

function compareReferences(pair: Pair): string[] {
  const pass = JSON.stringify([pair.inner.schema, pair.outer.schema]);
  if (pair.seen.has(pass)) return [];
  return compare({ ...pair, inner: follow(pair.inner), outer: follow(pair.outer), seen: new Set([...pair.seen, pass]) });
}

function follow(side: Side): Side {
  const reference = side.schema['$ref'];
  if (typeof reference !== 'string') return side;
  if (reference === '#') return { ...side, schema: side.root };
  const found = side.root.definitions?.[reference.replace('#/definitions/', '')];
  if (!found) throw new TypeError(`${reference} leads nowhere`);
  return { ...side, schema: found };
}

function comparePlain(pair: Pair): string[] {
  const types = compareTypes(pair);
  if (types.length > 0) return types;
  return [...compareWords(pair), ...compareRanges(pair), ...compareArrays(pair), ...compareObjects(pair), ...compareRest(pair)];
}

function compareTypes({ inner, outer, path, direction }: Pair): string[] {
  const [input, requested] = [getType(inner.schema), getType(outer.schema)];
  if (requested === undefined || input === requested || (input === 'integer' && requested === 'number')) return [];
  return [change(path, direction, `type ${input ?? 'anything'}`, `type ${requested}`)];
}

function getType(schema: JsonSchema): string | undefined {
  if (typeof schema.type === 'string') return schema.type;
  const words = getWords(schema);
  if (words === undefined) return undefined;
  const kinds = new Set(words.map((word) => (word === null ? 'null' : typeof word)));
  return kinds.size === 1 ? [...kinds][0] : undefined;
}

function getWords(schema: JsonSchema): unknown[] | undefined {
  if (Array.isArray(schema['enum'])) return schema['enum'];
  return 'const' in schema ? [schema['const']] : undefined;
}

/** Another kind beside the kinds there were, told apart by a constant field: a new frame of a stream. */
function isNewWord(form: JsonSchema, promised: JsonSchema): boolean {
  const [name, field] = Object.entries(form.properties ?? {}).find(([, property]) => 'const' in property) ?? [];
  const known = (getForms(promised) ?? []).map((each) => each.properties?.[name ?? '']?.['const']);
  return name !== undefined && known.length > 0 && known.every((word) => word !== undefined && word !== field?.['const']);
}

function compareWords({ inner, outer, path, direction }: Pair): string[] {
  const [inputs, requestedItems] = [getWords(inner.schema), getWords(outer.schema)];
  if (requestedItems === undefined) return [];
  if (inputs === undefined)
    return [change(path, direction, 'any value', `only ${requestedItems.map((word) => JSON.stringify(word)).join(', ')}`)];
  if (direction === 'result' && 'enum' in outer.schema) return [];
  const says = direction === 'params' ? 'no longer accepts' : 'may now be';
  return inputs.filter((word) => !requestedItems.includes(word)).map((word) => `${at(path)} ${says} ${JSON.stringify(word)}`);
}

/** Bounds in pairs, and on which side they stand. */
const BOUNDS = [
  { closed: 'minimum', open: 'exclusiveMinimum', side: 1 },
  { closed: 'maximum', open: 'exclusiveMaximum', side: -1 },
  { closed: 'minLength', open: '', side: 1 },
  { closed: 'maxLength', open: '', side: -1 },
  { closed: 'minItems', open: '', side: 1 },
  { closed: 'maxItems', open: '', side: -1 },
  { closed: 'maxProperties', open: '', side: -1 },
] as const;
type Bound = (typeof BOUNDS)[number];
const BOUND_CHANGED = new RegExp(` changed from (${BOUNDS.map(({ closed }) => closed).join('|')}) `);

function compareRanges({ inner, outer, path, direction }: Pair): string[] {
  if (getWords(inner.schema)) return [];
  return BOUNDS.flatMap((bound) => {
    const [given, requestedCount] = [getBound(inner.schema, bound), getBound(outer.schema, bound)];
    if (requestedCount === undefined || (given !== undefined && bound.side * (given - requestedCount) >= 0)) return [];
    return [change(path, direction, `${bound.closed} ${given ?? 'none'}`, `${bound.closed} ${requestedCount}`)];
  });
}

/** An open bound is tighter than a closed one: by one for whole numbers, else by a hair. */
function getBound(schema: JsonSchema, { closed, open, side }: Bound): number | undefined {
  const step = schema.type === 'integer' ? 1 : 1e-9;
  const matches = [schema[closed], schema[open]].flatMap((value, index) =>
    typeof value === 'number' ? [value + side * index * step] : [],
  );
  return matches.length === 0 ? undefined : side * Math.max(...matches.map((value) => side * value));
}

function compareArrays(pair: Pair): string[] {
  const { inner, outer } = pair;
  const [options, wanted] = [inner.schema['items'], outer.schema['items']];
  if (wanted === undefined) return [];
  if (Array.isArray(options) && Array.isArray(wanted)) return compareTuples(pair, options as JsonSchema[], wanted as JsonSchema[]);
  if (Array.isArray(options) || Array.isArray(wanted)) return [`${at(pair.path)} is another kind of list`];
  return compare(step(pair, '[]', (options ?? {}) as JsonSchema, wanted as JsonSchema));
}

function compareTuples(pair: Pair, given: readonly JsonSchema[], wanted: readonly JsonSchema[]): string[] {
  if (given.length !== wanted.length) return [`${at(pair.path)} has another number of items`];
  return given.flatMap((item, index) => compare(step(pair, `[${index}]`, item, wanted[index] ?? {})));
}

function compareObjects(pair: Pair): string[] {
  const { inner, outer } = pair;
  if (getType(outer.schema) !== 'object' || getType(inner.schema) !== 'object') return [];
  return [...compareProperties(pair), ...compareRequired(pair), ...compareExtras(pair), ...compareNames(pair)];
}

function compareProperties(pair: Pair): string[] {
  const { inner, outer, path, direction } = pair;
  const wanted = outer.schema.properties ?? {};
  const given = inner.schema.properties ?? {};
  const lost = direction === 'result' ? Object.keys(wanted).filter((name) => !(name in given)) : [];
  return [
    ...lost.map((name) => `${at(join(path, name))} was removed`),
    ...Object.entries(given).flatMap(([name, field]) => {
      const counterpart = wanted[name] ?? getExtras(outer.schema);
      if (counterpart === false) return direction === 'result' ? [] : [`${at(join(path, name))} was removed`];
      return compare(step(pair, `.${name}`, field, counterpart));
    }),
  ];
}

function compareRequired({ inner, outer, path, direction }: Pair): string[] {
  const sure = new Set(inner.schema.required);
  const missing = (outer.schema.required ?? []).filter((name) => !sure.has(name));
  const lost = (name: string) => direction === 'result' && !(name in (inner.schema.properties ?? {}));
  return missing
    .filter((name) => !lost(name))
    .map((name) => `${at(join(path, name))} ${direction === 'params' ? 'became required' : 'is no longer always there'}`);
}

function compareExtras(pair: Pair): string[] {
  const { inner, outer, path, direction } = pair;
  const [given, wanted] = [getExtras(inner.schema), getExtras(outer.schema)];
  if (given === false) return [];
  if (wanted === false) return direction === 'result' ? [] : [`${at(path)} no longer accepts other fields`];
  return compare(step(pair, '.*', given, wanted));
}

function compareNames(pair: Pair): string[] {
  const [given, wanted] = [pair.inner.schema, pair.outer.schema].map((schema) => schema['propertyNames'] as JsonSchema | undefined);
  if (wanted === undefined) return [];
  return compare(step(pair, '.<name>', given ?? { type: 'string' }, wanted));
}

function getExtras(schema: JsonSchema): JsonSchema | false {
  const extras = schema.additionalProperties;
  if (extras === false) return false;
  return extras === undefined || extras === true ? {} : extras;
}

/** A rule that this comparison does not understand must be the same. */
function compareRest({ inner, outer, path, direction }: Pair): string[] {
  if (getWords(inner.schema)) return [];
  const rules = Object.keys(outer.schema).filter((keyword) => !KNOWN.has(keyword) && !SILENT.has(keyword));
  return rules
    .filter((keyword) => JSON.stringify(inner.schema[keyword]) !== JSON.stringify(outer.schema[keyword]))
    .map((keyword) => change(path, direction, `${keyword} ${show(inner.schema[keyword])}`, `${keyword} ${show(outer.schema[keyword])}`));
}

function step(pair: Pair, name: string, inner: JsonSchema, outer: JsonSchema): Pair {
  return {
    ...pair,
    path: `${pair.path}${name}`.replace(/^\./, ''),
    inner: { ...pair.inner, schema: inner },
    outer: { ...pair.outer, schema: outer },
  };
}

function identical({ inner, outer }: Pair): boolean {
  if (inner.root.definitions !== undefined || outer.root.definitions !== undefined) return false;
  return JSON.stringify(inner.schema) === JSON.stringify(outer.schema);
}

/** Says a change in the order in which it happened. */
function change(path: string, direction: Direction, inner: string, outer: string): string {
  const [from, to] = direction === 'params' ? [inner, outer] : [outer, inner];
  return `${at(path)} changed from ${from} to ${to}`;
}

/** Returns the faults of the closest union member: fewer faults are closer, and differing bounds are closer than a different type. */
function nearest(found: readonly string[][]): string[] | undefined {
  const distance = (sentences: readonly string[]) =>
    sentences.reduce((sum, sentence) => sum + (BOUND_CHANGED.test(sentence) ? 1 : 1_000), 0);
  return found.toSorted((a, b) => distance(a) - distance(b))[0];
}

function at(path: string): string {
  return path === '' ? 'the whole' : path;
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

function show(value: unknown): string {
  return value === undefined ? 'none' : JSON.stringify(value);
}
