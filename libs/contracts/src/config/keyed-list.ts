import { z } from 'zod';

/** The keys of lists whose entries are not identified by `id`. */
const listKeys = z.registry<{ key: string }>();

/** The schema of the entries of a keyed list, and the field that identifies an entry. */
export interface KeyedEntry {
  schema: z.ZodObject;
  key: string;
}

/** Declares that `config.patch` merges this list by the given field of its entries. A list whose entries have an `id` needs no declaration. */
export function keyedBy<E extends z.ZodObject>(key: keyof z.output<E> & string, list: z.ZodArray<E>): z.ZodArray<E> {
  return list.register(listKeys, { key });
}

/** Returns the entry of a keyed list; undefined for other schemas. */
export function getKeyedEntry(schema: z.core.$ZodType): KeyedEntry | undefined {
  const list = unwrap(schema);
  const entry = list instanceof z.ZodArray ? unwrap(list.element) : undefined;
  if (!(entry instanceof z.ZodObject)) return undefined;
  const key = listKeys.get(list as z.ZodArray)?.key ?? 'id';
  return Object.hasOwn(entry.shape, key) ? { schema: entry, key } : undefined;
}

/** Removes defaults and optionality. */
export function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  return isWrapper(schema) ? unwrap(schema.unwrap()) : schema;
}

export function isWrapper(schema: z.core.$ZodType): schema is z.ZodDefault | z.ZodPrefault | z.ZodOptional {
  return schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional;
}
