import type { z } from 'zod';

/** What a document may be: an object, whose fields the store can read. */
export type Document = Record<string, unknown>;

export interface IndexSpec<D> {
  /** The tenant is put in front of them. */
  fields: readonly (keyof D & string)[];
  /** Not led by the tenant: for `system()`. */
  across?: true;
  /** Holds only documents that have the first field, and so costs nothing where it is missing. Serves queries that ask for a value of it. */
  sparse?: true;
}

/** One kind of document. Declared once; both adapters read it. */
export interface CollectionSpec<S extends z.ZodType<Document>> {
  name: string;
  schema: S;
  /** The field that names a document within its tenant. Text. */
  key: keyof z.output<S> & string;
  indexes?: readonly IndexSpec<z.output<S>>[];
  /** Sets of fields of which no two documents of a tenant may share the values; a document lacking one of them is free. */
  unique?: readonly (readonly (keyof z.output<S> & string)[])[];
  /** Documents are removed some time after `field` (epoch ms) plus `afterMs`. Cleanup only, never correctness. */
  /** How large a document may be; 1 MiB unless said. For what cannot be cut into documents of its own yet. */
  maxBytes?: number;
  expires?: { field: keyof z.output<S> & string; afterMs: number };
}

/** A declaration whose documents are not known yet. */
export type AnyCollectionSpec = CollectionSpec<z.ZodType<Document>>;

export function collection<S extends z.ZodType<Document>>(spec: CollectionSpec<S>): CollectionSpec<S> {
  return spec;
}

export type DocumentOf<C> = C extends CollectionSpec<infer S> ? (z.output<S> extends infer D extends Document ? D : never) : never;
