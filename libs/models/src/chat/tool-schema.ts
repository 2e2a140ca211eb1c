/** Keywords that xAI rejects. They are validated locally when the tool is called. */
const REFUSED = new Set(['minLength', 'maxLength', 'minItems', 'maxItems', 'minContains', 'maxContains']);
/** Keywords with schemas by custom names, which must not be treated as keywords. */
const BY_NAME = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
/** Keywords with plain values. */
const VALUES = new Set(['enum', 'const', 'default', 'examples', 'required']);

type Schema = Record<string, unknown>;

/** Removes keywords that xAI rejects. */
export function schemaForXai(schema: Schema): Schema {
  const keptItems = Object.entries(schema).filter(([keyword]) => !REFUSED.has(keyword));
  return Object.fromEntries(
    keptItems.map(([keyword, value]) => [keyword, VALUES.has(keyword) ? value : convertValue(value, BY_NAME.has(keyword))]),
  );
}

function convertValue(value: unknown, byName: boolean): unknown {
  if (Array.isArray(value)) return value.map((one) => convertValue(one, false));
  if (typeof value !== 'object' || value === null) return value;
  if (!byName) return schemaForXai(value as Schema);
  return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, convertValue(schema, false)]));
}
