import { Configuration, inputSchema, type JsonSchema } from '@switchyard/contracts';

/** One key of the configuration, or a group of keys. */
export interface Setting {
  /** Dotted; `*` stands for an id or for each entry of a list. */
  path: string;
  schema: JsonSchema;
  /** Whether it has keys below it. */
  group: boolean;
  /** Whether it is part of a list entry. Lists are set as a whole. */
  inList: boolean;
}

/** Returns all settings in the order of declaration, each group before its keys. */
export function listSettings(schema: JsonSchema = inputSchema(Configuration)): Setting[] {
  return below(schema, { prefix: '', inList: false });
}

interface Place {
  prefix: string;
  inList: boolean;
}

function below({ properties = {} }: JsonSchema, { prefix, inList }: Place): Setting[] {
  return Object.entries(properties).flatMap(([key, schema]) => {
    const path = `${prefix}${key}`;
    const { object, entries, listed } = inside(schema);
    const held = object === undefined ? [] : below(object, { prefix: `${path}.${'*.'.repeat(entries)}`, inList: inList || listed });
    return [{ path, schema, group: held.length > 0, inList }, ...held];
  });
}

interface Inside {
  /** The object with the keys below. */
  object: JsonSchema | undefined;
  /** Number of lists and maps in between. */
  entries: number;
  listed: boolean;
}

function inside(schema: JsonSchema): Inside {
  if (schema.properties !== undefined) return { object: schema, entries: 0, listed: false };
  const list = schema['items'] as JsonSchema | undefined;
  const map = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined;
  const entry = list ?? map;
  if (entry === undefined) return { object: undefined, entries: 0, listed: false };
  const { object, entries, listed } = inside(entry);
  return { object, entries: entries + 1, listed: listed || list !== undefined };
}
