import { closest } from '@switchyard/contracts';
import type { z } from 'zod';
import { PROCESS_VARIABLES } from '../variables/process-variables.ts';
import { readSecret, type Variables } from '../variables/secret-variables.ts';
import { StartError } from '../variables/start-error.ts';
import { knownKeys, readAs, stepByVariable, variablePart } from './schema-path.ts';
import { merge, refuseUnsafeKeys, getTree, type Path, type Tree } from './configuration-tree.ts';

/** A key that the environment sets. It cannot be changed while the process runs. */
export interface Pin {
  /** Dotted, such as `gateway.rateLimit.maxRequests`. */
  path: string;
  variable: string;
}

export interface EnvironmentLayer {
  tree: Tree;
  pins: readonly Pin[];
}

const PREFIX = 'SWITCHYARD_';
const FILE = '_FILE';
/** Variables with a name shorter than the path of their key. */
const SHORT: Readonly<Record<string, Path>> = { SWITCHYARD_HOST: ['gateway', 'host'], SWITCHYARD_PORT: ['gateway', 'port'] };

/** Reads the variables `SWITCHYARD_<SECTION>__<KEY>`. Throws for an unknown key and suggests the most similar name. */
export async function readEnvironmentLayer(variables: Variables, schema: z.ZodType): Promise<EnvironmentLayer> {
  let tree: Tree = {};
  const pins: Pin[] = [];
  for (const variable of Object.keys(variables).filter(isConfiguration).sort(shortNamesFirst)) {
    const target = resolve(variable, schema);
    const value = target && (await readSecret(variables, target.name));
    if (target === undefined || value === undefined) continue;
    const read = readAs(target.schema, value);
    refuseUnsafeKeys(read, variable);
    tree = merge(tree, getTree(target.path, read));
    pins.push({ path: target.path.join('.'), variable });
  }
  return { tree, pins };
}

/** Returns the variable that sets the key at this path. */
export function getVariable(path: Path): string {
  return PREFIX + path.map(variablePart).join('__');
}

function isConfiguration(variable: string): boolean {
  return variable.startsWith(PREFIX) && !PROCESS_VARIABLES.some((name) => variable === name || variable === name + FILE);
}

function shortNamesFirst(a: string, b: string): number {
  return Number(b in SHORT) - Number(a in SHORT) || (a < b ? -1 : 1);
}

interface Target {
  /** The variable without `_FILE`. */
  name: string;
  path: Path;
  schema: z.core.$ZodType;
}

/** Returns undefined for variables of other programs, such as those that Kubernetes sets for a service named switchyard. */
function resolve(variable: string, schema: z.ZodType): Target | undefined {
  const names = variable.endsWith(FILE) ? [variable, variable.slice(0, -FILE.length)] : [variable];
  for (const name of names) {
    const target = follow(name, schema);
    if ('schema' in target) return target;
  }
  const { known, unknown, keys } = follow(variable, schema) as Miss;
  const closestKey = closest(unknown, keys);
  if (!variable.includes('__') && (closestKey === undefined || unknown.length - closestKey.length > 2)) return undefined;
  const hint = closestKey === undefined ? '' : `; did you mean ${PREFIX}${[...known, closestKey].join('__')}?`;
  throw new StartError(`${variable} is not the name of a configuration key${hint === '' ? '.' : hint}`);
}

interface Miss {
  /** The known parts of the name, the first unknown part, and the keys that are valid in its place. */
  known: string[];
  unknown: string;
  keys: string[];
}

function follow(name: string, schema: z.ZodType): Target | Miss {
  const short = SHORT[name];
  const parts = short?.map(variablePart) ?? name.slice(PREFIX.length).split('__');
  const path: string[] = [];
  let at: z.core.$ZodType = schema;
  for (const [index, part] of parts.entries()) {
    const next = stepByVariable(at, part);
    if (next === undefined) {
      const keys = knownKeys(at).map(variablePart);
      const processNames = index === 0 ? [...PROCESS_VARIABLES, ...Object.keys(SHORT)].map((other) => other.slice(PREFIX.length)) : [];
      return { known: parts.slice(0, index), unknown: part, keys: [...keys, ...processNames] };
    }
    path.push(next.key);
    at = next.schema;
  }
  return { name, path, schema: at };
}
