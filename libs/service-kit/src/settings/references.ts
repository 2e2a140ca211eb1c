import type { z } from 'zod';
import type { Variables } from '../read-secret.ts';
import { readAs, stepInto } from './schema-path.ts';
import { isTree, type Tree } from './tree.ts';

const REFERENCE = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/;

/** Whoever can only write a setting must not read what opens everything: these are never filled in. */
const WITHHELD = /^(SECRETS_MASTER_KEY(_PREVIOUS)?|SWITCHYARD_TOKEN)(_FILE)?$/;

/**
 * The same tree with the variable in place of each text that is exactly `${NAME}`, as the number or list that the schema wants
 * there. A name that is not set stays as it is written. What is stored keeps the reference; this is for whoever uses the value.
 */
export function resolveReferences(tree: Tree, variables: Variables, schema?: z.core.$ZodType): Tree {
  return Object.fromEntries(Object.entries(tree).map(([key, value]) => [key, resolved(value, variables, schema && stepInto(schema, key))]));
}

function resolved(value: unknown, variables: Variables, schema: z.core.$ZodType | undefined): unknown {
  if (Array.isArray(value)) return value.map((item) => resolved(item, variables, undefined));
  if (isTree(value)) return resolveReferences(value, variables, schema);
  const name = typeof value === 'string' ? REFERENCE.exec(value)?.[1] : undefined;
  const text = name === undefined || WITHHELD.test(name) ? undefined : variables[name];
  if (text === undefined) return value;
  return schema === undefined ? text : readAs(schema, text);
}
