import type { z } from 'zod';

export type Document = Record<string, unknown>;

export interface IndexSpec<D> {
  /** The adapter prepends the tenant. */
  fields: readonly (keyof D & string)[];
  /** Omits the tenant prefix; for queries of `system()`. */
  across?: true;
  /** Contains only documents with the first field. Serves queries for a value of that field. */
  sparse?: true;
}

/** Declares a collection for both adapters. */
export interface CollectionSpec<S extends z.ZodType<Document>> {
  name: string;
  schema: S;
  /** The text field that identifies a document within its tenant. */
  key: keyof z.output<S> & string;
  indexes?: readonly IndexSpec<z.output<S>>[];
  /** Sets of fields with unique values within a tenant. Documents that lack one of the fields are exempt. */
  unique?: readonly (readonly (keyof z.output<S> & string)[])[];
  /** Maximum size of a document; 1 MiB by default. */
  maxBytes?: number;
  /** Removes documents some time after `field` (epoch milliseconds) plus `afterMs`. Do not rely on the exact time. */
  expires?: { field: keyof z.output<S> & string; afterMs: number };
}

export type AnyCollectionSpec = CollectionSpec<z.ZodType<Document>>;

export function collection<S extends z.ZodType<Document>>(spec: CollectionSpec<S>): CollectionSpec<S> {
  return spec;
}

export type DocumentOf<C> = C extends CollectionSpec<infer S> ? (z.output<S> extends infer D extends Document ? D : never) : never;
