import type { z } from 'zod';
import type { Variables } from '../variables/secret-variables.ts';
import { readAs, stepInto } from './schema-path.ts';
import { isTree, type Tree } from './configuration-tree.ts';

const REFERENCE = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/;

/** Whoever can only write a setting must not read what opens everything: the house's own variables are never filled in. */
const WITHHELD = /^(SECRETS_MASTER_KEY|SWITCHYARD_|NATS_)/;

/** What is under this key is sent to an address that whoever writes it chooses: no variable goes there. */
const SENT = 'headers';

/**
 * The same tree with the variable in place of each text that is exactly `${NAME}`, as the number or list that the schema wants
 * there. A name that is not set stays as it is written, and so does every one in headers. What is stored keeps the reference; this
 * is for whoever uses the value.
 */
export function resolveReferences(tree: Tree, variables: Variables, schema?: z.core.$ZodType): Tree {
  return Object.fromEntries(
    Object.entries(tree).map(([key, value]) => [key, key === SENT ? value : resolved(value, variables, schema && stepInto(schema, key))]),
  );
}

/** Where a text in headers is `${NAME}`, as dotted paths with the text. */
export function sentReferences(tree: Tree, above = '', sent = false): [path: string, reference: string][] {
  return Object.entries(tree).flatMap(([key, value]) => {
    const path = above === '' ? key : `${above}.${key}`;
    if (isTree(value)) return sentReferences(value, path, sent || key === SENT);
    return sent && typeof value === 'string' && REFERENCE.test(value) ? [[path, value] as [string, string]] : [];
  });
}

/** Every text that is exactly `${NAME}`, in lists too, as dotted paths with the name. */
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
