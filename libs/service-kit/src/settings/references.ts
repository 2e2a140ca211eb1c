import type { z } from 'zod';
import type { Variables } from '../variables/secret-variables.ts';
import { readAs, stepInto } from './schema-path.ts';
import { isTree, type Tree } from './configuration-tree.ts';

const REFERENCE = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/;

/** Variables that are never resolved: permission to write settings must not give access to the credentials of the product. */
const WITHHELD = /^(SECRETS_MASTER_KEY|SWITCHYARD_|NATS_)/;

/** Values under this key are sent to an address that the author of the setting chooses, so variables are not resolved there. */
const SENT = 'headers';

/**
 * Replaces each text that is exactly `${NAME}` with the variable, converted to the type that the schema expects. Unset variables
 * and references in headers stay unchanged. Stored settings keep the reference; call this before using a value.
 */
export function resolveReferences(tree: Tree, variables: Variables, schema?: z.core.$ZodType): Tree {
  return Object.fromEntries(
    Object.entries(tree).map(([key, value]) => [key, key === SENT ? value : resolved(value, variables, schema && stepInto(schema, key))]),
  );
}

/** Finds references `${NAME}` in headers; returns dotted paths with the text. */
export function sentReferences(tree: Tree, above = '', sent = false): [path: string, reference: string][] {
  return Object.entries(tree).flatMap(([key, value]) => {
    const path = above === '' ? key : `${above}.${key}`;
    if (isTree(value)) return sentReferences(value, path, sent || key === SENT);
    return sent && typeof value === 'string' && REFERENCE.test(value) ? [[path, value] as [string, string]] : [];
  });
}

/** Finds all texts that are exactly `${NAME}`, also in lists; returns dotted paths with the name. */
export function referencesIn(value: unknown, path = ''): [path: string, name: string][] {
  if (typeof value === 'string') {
    const name = REFERENCE.exec(value)?.[1];
    return name === undefined ? [] : [[path, name]];
  }
  const entries = Array.isArray(value) ? value.entries() : isTree(value) ? Object.entries(value) : [];
  return [...entries].flatMap(([key, inner]) => referencesIn(inner, path === '' ? `${key}` : `${path}.${key}`));
}

function resolved(value: unknown, variables: Variables, schema: z.core.$ZodType | undefined): unknown {
  if (Array.isArray(value)) return value.map((item) => resolved(item, variables, undefined));
  if (isTree(value)) return resolveReferences(value, variables, schema);
  const name = typeof value === 'string' ? REFERENCE.exec(value)?.[1] : undefined;
  const text = name === undefined || WITHHELD.test(name) ? undefined : variables[name];
  if (text === undefined) return value;
  return schema === undefined ? text : readAs(schema, text);
}
