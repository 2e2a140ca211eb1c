import { readFile } from 'node:fs/promises';
import type { z } from 'zod';
import type { Variables } from '../variables/secret-variables.ts';
import { StartError } from '../variables/start-error.ts';
import { readAs, stepInto } from './schema-path.ts';
import { isTree, refuseUnsafeKeys, type Tree } from './configuration-tree.ts';

const DEFAULT_FILE = 'config.yaml';

export interface FileLayer {
  file: string;
  tree: Tree;
}

/** Reads the named files, which must exist, or else `config.yaml` if it exists. */
export async function readFileLayers(
  named: readonly string[] | undefined,
  options: { variables: Variables; schema: z.ZodType },
): Promise<FileLayer[]> {
  const layers: FileLayer[] = [];
  for (const file of named ?? [DEFAULT_FILE]) {
    const text = await readText(file, named === undefined);
    if (text !== undefined) layers.push({ file, tree: await parseFile(file, text, options) });
  }
  return layers;
}

async function readText(file: string, optional: boolean): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (optional && code === 'ENOENT') return undefined;
    throw new StartError(`The configuration file ${file} cannot be read (${code ?? 'unknown error'}).`, { cause });
  }
}

async function parseFile(file: string, text: string, { variables, schema }: { variables: Variables; schema: z.ZodType }): Promise<Tree> {
  const tree = (await parse(file, text)) ?? {};
  if (!isTree(tree)) throw new StartError(`The configuration file ${file} must contain an object of sections.`);
  refuseUnsafeKeys(tree, `The configuration file ${file}`);
  return substitute(tree, { file, variables, schema }) as Tree;
}

/** Loads the YAML parser on first use, because most processes read no file. */
async function parse(file: string, text: string): Promise<unknown> {
  const { parse: read } = file.endsWith('.json') ? { parse: JSON.parse as (text: string) => unknown } : await import('yaml');
  try {
    return read(text);
  } catch (cause) {
    const reason = cause instanceof Error ? (cause.message.split('\n')[0] ?? '') : '';
    throw new StartError(`The configuration file ${file} cannot be parsed: ${reason.replace(/:$/, '')}.`, { cause });
  }
}

interface Scope {
  file: string;
  variables: Variables;
  /** Schema of the current value, if known. */
  schema: z.core.$ZodType | undefined;
}

/** Replaces `${NAME}` with the variable and `$${` with `${`. A text that is a single variable may become a number, a boolean or a list. */
function substitute(value: unknown, scope: Scope): unknown {
  if (typeof value === 'string') return fill(value, scope);
  if (Array.isArray(value)) return value.map((item) => substitute(item, { ...scope, schema: undefined }));
  if (!isTree(value)) return value;
  const entries = Object.entries(value).map(([key, inner]) => {
    const schema = scope.schema && stepInto(scope.schema, key);
    return [key, substitute(inner, { ...scope, schema })] as const;
  });
  return Object.fromEntries(entries);
}

const PLACEHOLDER = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;
const ALONE = /^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/;

function fill(text: string, { file, variables, schema }: Scope): unknown {
  const filled = text.replace(PLACEHOLDER, (found: string, name: string | undefined) => {
    if (name === undefined) return '${';
    const value = variables[name];
    if (value === undefined) throw new StartError(`The configuration file ${file} uses ${found}, but that variable is not set.`);
    return value;
  });
  return schema !== undefined && ALONE.test(text) ? readAs(schema, filled) : filled;
}
