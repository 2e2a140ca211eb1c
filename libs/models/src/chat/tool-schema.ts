/** Keywords that xAI refuses a whole request for. A validation of ours sees to them when the tool is called. */
const REFUSED = new Set(['minLength', 'maxLength', 'minItems', 'maxItems', 'minContains', 'maxContains']);
/** Below these stand schemas by names that somebody chose, and a name is no keyword. */
const BY_NAME = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
/** Below these stand values, and no schemas. */
const VALUES = new Set(['enum', 'const', 'default', 'examples', 'required']);

type Schema = Record<string, unknown>;

/** A schema without what this upstream refuses. */
export function schemaForXai(schema: Schema): Schema {
  const kept = Object.entries(schema).filter(([keyword]) => !REFUSED.has(keyword));
  return Object.fromEntries(kept.map(([keyword, value]) => [keyword, VALUES.has(keyword) ? value : below(value, BY_NAME.has(keyword))]));
}

function below(value: unknown, byName: boolean): unknown {
  if (Array.isArray(value)) return value.map((one) => below(one, false));
  if (typeof value !== 'object' || value === null) return value;
  if (!byName) return schemaForXai(value as Schema);
  return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, below(schema, false)]));
}
