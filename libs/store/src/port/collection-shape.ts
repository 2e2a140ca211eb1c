import { describeIssues, ServiceError } from '@switchyard/contracts';
import { z } from 'zod';
import type { AnyCollectionSpec, Document } from './collection.ts';
import { createFastValidator, type FastValidator } from './fast-validator.ts';
import { decodeJson, encodeJson, findJsonPart, unwrapSchema, type JsonPart } from './json-field.ts';
import { misuseError } from './store-misuse.ts';

/** A collection's declaration, prepared for the adapters. */
export interface CollectionShape {
  spec: AnyCollectionSpec;
  /** The schemas of each field; several if the document is a union. */
  fields: ReadonlyMap<string, readonly z.ZodType[]>;
  /** Fields that are stored as text. */
  json: ReadonlyMap<string, JsonPart>;
  /** Fields that may be boolean. */
  booleans: ReadonlySet<string>;
  /** Fields with a default. */
  defaulted: readonly string[];
  /** Fast pre-check of each field. If it fails, the schema decides. */
  validators: ReadonlyMap<string, FastValidator>;
  /** The same validators as a list, if valid fields make a valid document. */
  simpleFields: readonly (readonly [field: string, accept: FastValidator])[] | undefined;
}

const COLLECTION_NAME = /^[a-z][A-Za-z0-9_-]{0,63}$/;
const FIELD_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
const RESERVED_FIELDS: ReadonlySet<string> = new Set(['tenant', '__proto__']);
/** MongoDB's operators, paths and type markers. */
const RESERVED_NAME = /^\$|[.\0]|^(?:_bsontype|__proto__)$/;
const MAX_DOCUMENT_BYTES = 1_048_576;
/** Matches an escaped lone surrogate in JSON, and also a text that contains this escape literally. */
const LONE_SURROGATE = /\\ud[89a-f]/;

/** Prepares a declaration. Throws if an adapter could not store its documents. */
export function readCollectionSpec(spec: AnyCollectionSpec): CollectionShape {
  if (!COLLECTION_NAME.test(spec.name)) throw misuseError(spec.name, 'a collection is named by letters, digits, _ and -');
  const fields = new Map<string, z.ZodType[]>();
  collectFields(spec.schema, fields, spec.name);
  const jsonFields = new Map<string, JsonPart>();
  for (const [name, types] of fields) {
    if (!FIELD_NAME.test(name) || RESERVED_FIELDS.has(name)) throw misuseError(spec.name, `a field cannot be named ${name}`);
    const parts = new Set(types.map((type) => findJsonPart(spec.name, name, type)));
    if (parts.size > 1) throw misuseError(spec.name, `${name} is json() in one place and not in another`);
    for (const part of parts) if (part !== undefined) jsonFields.set(name, part);
  }
  const defaulted = [...fields].filter(([, types]) => types.some((type) => type.safeParse(undefined).data !== undefined));
  const booleans = new Set([...fields].filter(([, types]) => types.some(mayBeBoolean)).map(([name]) => name));
  const validators = new Map([...fields].map(([name, types]) => [name, acceptAny(types.map(createFastValidator))]));
  const { schema } = spec;
  const isSimple = schema instanceof z.ZodObject && schema.def.catchall === undefined && (schema.def.checks ?? []).length === 0;
  const simpleFields = isSimple ? [...validators] : undefined;
  const shape = { spec, fields, json: jsonFields, booleans, defaulted: defaulted.map(([name]) => name), validators, simpleFields };
  const named = [[spec.key], ...(spec.unique ?? []), ...(spec.indexes ?? []).map((index) => index.fields)].flat();
  for (const name of spec.expires ? [...named, spec.expires.field] : named) requireComparable(shape, name);
  return shape;
}

function acceptAny(tests: readonly FastValidator[]): FastValidator {
  const [first] = tests;
  if (first !== undefined && tests.length === 1) return first;
  return (value) => tests.some((accepts) => accepts(value));
}

function collectFields(schema: z.ZodType, fields: Map<string, z.ZodType[]>, name: string): void {
  if (schema instanceof z.ZodObject) {
    for (const [field, type] of Object.entries(schema.shape)) fields.set(field, [...(fields.get(field) ?? []), type]);
  } else if (schema instanceof z.ZodUnion) {
    for (const option of schema.options) collectFields(option as z.ZodType, fields, name);
  } else if (schema instanceof z.ZodIntersection) {
    collectFields(schema.def.left as z.ZodType, fields, name);
    collectFields(schema.def.right as z.ZodType, fields, name);
  } else {
    throw misuseError(name, 'the schema must be an object, or a union or intersection of objects');
  }
}

/** Throws for an undeclared field. Only declared names become part of a statement. */
export function requireField(shape: CollectionShape, name: string): void {
  if (!shape.fields.has(name)) throw misuseError(shape.spec.name, `the schema has no field ${JSON.stringify(name)}`);
}

export function requireComparable(shape: CollectionShape, name: string): void {
  requireField(shape, name);
  if (shape.json.has(name)) throw misuseError(shape.spec.name, `${name} is json(), which can only be asked whether it exists`);
}

/** False only if the schema excludes booleans. */
function mayBeBoolean(type: z.ZodType): boolean {
  const bare = unwrapSchema(type);
  return !(bare instanceof z.ZodString || bare instanceof z.ZodNumber || bare instanceof z.ZodEnum || bare instanceof z.ZodStringFormat);
}

/** Validates a document and returns its stored form, with defaults and without unknown fields. */
export function completeDocument(shape: CollectionShape, document: Document): Document {
  const { spec, fields } = shape;
  const valid = validateDocument(shape, document);
  const stored: Document = {};
  for (const field of fields.keys()) {
    const value = document[field] === undefined ? valid[field] : document[field];
    if (value !== undefined) stored[field] = toStored(shape, field, value);
  }
  const key = stored[spec.key];
  if (typeof key !== 'string' || key === '') throw misuseError(spec.name, `the key ${spec.key} must be text`);
  return stored;
}

/** Returns the document with its defaults. */
function validateDocument({ spec, simpleFields: plain }: CollectionShape, document: Document): Document {
  if (plain?.every(([field, accept]) => accept(document[field]))) return document;
  const parsed = spec.schema.safeParse(document);
  if (!parsed.success) throw invalidDocument(spec.name, parsed.error);
  return parsed.data;
}

/** Decodes a stored document. Fields that were added later get their defaults. */
export function fromStored(shape: CollectionShape, document: Document): Document {
  if (shape.json.size > 0) decodeJson(shape.json, document);
  if (shape.defaulted.some((field) => document[field] === undefined)) addDefaults(shape, document);
  return document;
}

function addDefaults({ spec, fields, defaulted }: CollectionShape, document: Document): void {
  // In a union the default depends on the whole document.
  const whole = spec.schema instanceof z.ZodObject ? undefined : spec.schema.safeParse(document).data;
  for (const field of defaulted) {
    if (document[field] !== undefined) continue;
    const value = spec.schema instanceof z.ZodObject ? fields.get(field)?.[0]?.safeParse(undefined).data : whole?.[field];
    if (value !== undefined) document[field] = value;
  }
}

/** Throws if the value is not valid for the field. */
export function requireValue({ spec, fields, validators: accepts }: CollectionShape, field: string, value: unknown): void {
  if (accepts.get(field)?.(value) === true) return;
  const plain = toPlain(value);
  const results = (fields.get(field) ?? []).map((type) => type.safeParse(plain));
  const first = results[0];
  if (results.some((result) => result.success) || first === undefined || first.success) return;
  throw invalidDocument(spec.name, first.error, field);
}

/** Converts a value through JSON. */
function toPlain(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? JSON.parse(JSON.stringify(value)) : value;
}

function invalidDocument(collection: string, error: z.ZodError, field?: string): ServiceError {
  const paths = describeIssues(error).map(({ path }) => (field === undefined ? path : path === 'params' ? field : `${field}.${path}`));
  return misuseError(collection, `not a valid document at ${paths.join(', ')}`);
}

/** Returns the stored form of a value as a deep copy. */
export function toStored({ spec, json }: CollectionShape, field: string, value: unknown): unknown {
  const part = json.get(field);
  if (part !== undefined) return encodeJson(part, value);
  const stored = toJsonValue(value);
  if (hasReservedName(stored)) throw misuseError(spec.name, `${field} contains a name that is reserved in databases; declare it as json()`);
  return stored;
}

/** Objects may contain names that their schema does not declare. */
function hasReservedName(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(hasReservedName);
  return Object.entries(value).some(([name, inner]) => RESERVED_NAME.test(name) || hasReservedName(inner));
}

/** Returns a deep copy of a value as every database stores it. */
export function toJsonValue(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value !== 'object' || value === null) return value;
  const text = JSON.stringify(value);
  if (!LONE_SURROGATE.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_name, inner: unknown) => (typeof inner === 'string' ? inner.toWellFormed() : inner));
}

/** Throws OUT_OF_RANGE for a document above the limit, unless it was above the limit before the change. */
export function requireSize({ spec }: CollectionShape, text: string, before = ''): void {
  // UTF-8 needs at most three bytes per UTF-16 code unit.
  const { maxBytes = MAX_DOCUMENT_BYTES } = spec;
  if (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes) return;
  if (Buffer.byteLength(before) > maxBytes) return;
  const message = `${spec.name}: a document has at most ${maxBytes} bytes; split growing data into documents of its own`;
  throw new ServiceError('OUT_OF_RANGE', message, { details: { reason: 'DOCUMENT_TOO_LARGE', maxBytes } });
}
