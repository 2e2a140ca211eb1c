import type { Callable, JsonSchema, MethodName } from '@switchyard/contracts';
import { closest } from '../arguments/similar-names.ts';
import { indented } from '../arguments/command-help.ts';
import { writeParams } from '../arguments/params.ts';
import { self } from '../server/installation.ts';

/** Loads the contracts on demand, because loading takes a third of a second. */
async function contracts() {
  return import('@switchyard/contracts');
}

export async function methodNames(): Promise<string[]> {
  return [...(await contracts()).publicMethods.keys()].sort();
}

/** Renders all methods, one line per namespace. Methods that are not served yet are listed separately. */
export async function methodList(): Promise<string> {
  const { publicMethods, unserved } = await contracts();
  const names = [...publicMethods.keys()].sort() as MethodName[];
  const served = bySpace(names.filter((name) => !unserved.has(name)));
  const others = bySpace(names.filter((name) => unserved.has(name)));
  return `Methods\n${served}${others === '' ? '' : `\nNot implemented yet\n${others}`}`;
}

function bySpace(names: readonly string[]): string {
  const spaces = new Map<string, string[]>();
  for (const name of names) {
    const at = name.lastIndexOf('.') + 1;
    const members = spaces.get(name.slice(0, at)) ?? [];
    spaces.set(name.slice(0, at), [...members, name.slice(at)]);
  }
  return indented([...spaces].map(([space, members]) => [space, members.join(' ')]));
}

/** Explains why a declared method is not served. Returns undefined for served and unknown methods. */
export async function whyNotServed(name: string): Promise<string | undefined> {
  const { isBuilt, publicMethods, unserved } = await contracts();
  const method = publicMethods.get(name);
  if (!method || !unserved.has(name as MethodName)) return undefined;
  const { service } = method;
  return isBuilt(service) ? `the ${service} service does not implement it yet` : `its ${service} service is not implemented yet`;
}

/** Renders the help of one method with examples. Returns undefined for an unknown method. */
export async function methodHelp(name: string): Promise<string | undefined> {
  const { inputSchema, publicMethods } = await contracts();
  const method = publicMethods.get(name);
  if (!method) return undefined;
  const spec = method.spec as Extract<Callable['spec'], { examples: unknown }>;
  const missing = await whyNotServed(name);
  const params = paramLines(inputSchema(spec.params));
  return [
    `${name}   scope ${spec.scope}, service ${method.service}`,
    ...(missing === undefined ? [] : [`Not served: ${missing}.`]),
    '',
    spec.summary,
    ...(spec.description === undefined ? [] : [spec.description]),
    '',
    params.length === 0 ? 'No params.\n' : indented(params),
    ...(method.emits.length === 0 ? [] : [`Events: ${method.emits.join(', ')}\n`]),
    ...spec.examples.map((example) => `  ${[self(), 'rpc', name, ...writeParams(example.params as Record<string, unknown>)].join(' ')}`),
    '',
  ].join('\n');
}

function paramLines({ properties = {}, required = [] }: JsonSchema): [string, string][] {
  return Object.entries(properties).map(([key, schema]) => {
    const description = schema['description'];
    const facts = [getType(schema), required.includes(key) ? 'required' : '', typeof description === 'string' ? description : ''];
    return [key, facts.filter(Boolean).join(' · ')];
  });
}

function getType(schema: JsonSchema): string {
  const options = schema['enum'] ?? (schema['const'] === undefined ? undefined : [schema['const']]);
  if (Array.isArray(options)) return options.map((option) => JSON.stringify(option)).join(' | ');
  const either = schema.anyOf ?? schema.oneOf;
  if (either) return [...new Set(either.map(getType))].join(' | ');
  if (Array.isArray(schema.type)) return schema.type.join(' | ');
  return schema.type ?? 'any';
}

/** Finds similar method names: by spelling, or the same name in another namespace. */
export async function similarMethods(name: string): Promise<string[]> {
  const { publicMethods } = await contracts();
  const near = closest(name, publicMethods.keys());
  if (near.length > 0) return near;
  const last = name.slice(name.lastIndexOf('.') + 1).toLowerCase();
  return [...publicMethods.keys()].filter((method) => method.toLowerCase().split('.').includes(last)).slice(0, 3);
}
