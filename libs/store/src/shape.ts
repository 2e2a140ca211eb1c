import { describeIssues, ServiceError } from '@switchyard/contracts';
import { z } from 'zod';
import type { AnyCollectionSpec, Document } from './collection.ts';

/** What an adapter needs to know of a collection: its declaration, and the schemas each field may have. */
export interface Shape {
  spec: AnyCollectionSpec;
  /** By name; several schemas where the document is a union. */
  fields: ReadonlyMap<string, readonly z.ZodType[]>;
}

const COLLECTION_NAME = /^[a-z][A-Za-z0-9_-]{0,63}$/;
const FIELD_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
const TAKEN_NAMES: ReadonlySet<string> = new Set(['tenant', '__proto__']);

/** Reads a declaration once; whatever no adapter could keep is refused here. */
export function shapeOf(spec: AnyCollectionSpec): Shape {
  if (!COLLECTION_NAME.test(spec.name)) throw misuse(spec.name, 'a collection is named by letters, digits, _ and -');
  const fields = new Map<string, z.ZodType[]>();
  gather(spec.schema, fields, spec.name);
  for (const name of fields.keys()) {
    if (!FIELD_NAME.test(name) || TAKEN_NAMES.has(name)) throw misuse(spec.name, `a field cannot be named ${name}`);
  }
  const shape = { spec, fields };
  const named = [[spec.key], ...(spec.unique ?? []), ...(spec.indexes ?? []).map((index) => index.fields)].flat();
  for (const name of spec.expires ? [...named, spec.expires.field] : named) requireField(shape, name);
  return shape;
}

function gather(schema: z.ZodType, fields: Map<string, z.ZodType[]>, name: string): void {
  if (schema instanceof z.ZodObject) {
    for (const [field, type] of Object.entries(schema.shape)) fields.set(field, [...(fields.get(field) ?? []), type]);
  } else if (schema instanceof z.ZodUnion) {
    for (const option of schema.options) gather(option as z.ZodType, fields, name);
  } else if (schema instanceof z.ZodIntersection) {
    gather(schema.def.left as z.ZodType, fields, name);
    gather(schema.def.right as z.ZodType, fields, name);
  } else {
    throw misuse(name, 'the schema must be an object, or a union or intersection of objects');
  }
}

/** A mistake of the code that uses the store; says where, never what the value was. */
export function misuse(collection: string, problem: string): ServiceError {
  return new ServiceError('INTERNAL', `${collection}: ${problem}`);
}

/** Throws for a field that the schema does not have: only declared names may become part of a statement. */
export function requireField(shape: Shape, name: string): void {
  if (!shape.fields.has(name)) throw misuse(shape.spec.name, `the schema has no field ${JSON.stringify(name)}`);
}

/** The document as it is stored: valid, fields as they were given, missing ones with their defaults, unknown ones left out. */
export function completeDocument({ spec, fields }: Shape, document: Document): Document {
  const parsed = spec.schema.safeParse(document);
  if (!parsed.success) throw invalidAt(spec.name, parsed.error);
  const whole: Document = {};
  for (const field of fields.keys()) {
    const value = document[field] === undefined ? parsed.data[field] : document[field];
    if (value !== undefined) whole[field] = toJsonValue(value);
  }
  const key = whole[spec.key];
  if (typeof key !== 'string' || key === '') throw misuse(spec.name, `the key ${spec.key} must be text`);
  return whole;
}

/** Whether one field may become this value. */
export function requireValue({ spec, fields }: Shape, field: string, value: unknown): void {
  const results = (fields.get(field) ?? []).map((type) => type.safeParse(value));
  const first = results[0];
  if (results.some((result) => result.success) || first === undefined || first.success) return;
  throw invalidAt(spec.name, first.error, field);
}

function invalidAt(collection: string, error: z.ZodError, field?: string): ServiceError {
  const paths = describeIssues(error).map(({ path }) => (field === undefined ? path : path === 'params' ? field : `${field}.${path}`));
  return misuse(collection, `not a valid document at ${paths.join(', ')}`);
}

/** What JSON keeps of a value, sharing nothing with it. */
export function toJsonValue(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return JSON.parse(JSON.stringify(value));
}
