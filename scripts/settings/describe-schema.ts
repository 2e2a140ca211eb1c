import { MAX, type JsonSchema } from '@switchyard/contracts';

/** Describes the accepted values for a person who writes a configuration file. */
export function describeType(schema: JsonSchema): string {
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return choices.map(describeType).join(' or ');
  if ('const' in schema) return code(schema['const']);
  if (Array.isArray(schema['enum'])) return schema['enum'].map(code).join(' ');
  switch (schema.type) {
    case 'integer':
    case 'number':
      return [schema.type === 'integer' ? 'whole number' : 'number', range(schema)].filter(Boolean).join(', ');
    case 'boolean':
      return '`true` or `false`';
    case 'string':
      return ['text', length(schema), pattern(schema)].filter(Boolean).join(', ');
    case 'array':
      return `list of ${describeType((schema['items'] ?? {}) as JsonSchema)}`;
    case 'object':
      return describeObject(schema);
    default:
      return 'anything';
  }
}

/** Returns the default as written in a file, or an empty text. */
export function describeDefault(schema: JsonSchema): string {
  if (!('default' in schema)) return '';
  const value = schema['default'];
  return value === '' ? 'empty' : code(JSON.stringify(value));
}

function describeObject({ properties, additionalProperties }: JsonSchema): string {
  if (properties !== undefined) return `object with ${Object.keys(properties).map(code).join(' ')}`;
  return typeof additionalProperties === 'object' ? `map of ${describeType(additionalProperties)}` : 'object';
}

function range(schema: JsonSchema): string {
  const [least, max, above] = [getNumber(schema, 'minimum'), getNumber(schema, 'maximum'), getNumber(schema, 'exclusiveMinimum')];
  if (least !== undefined && max !== undefined) return `${least} to ${max}`;
  if (above !== undefined) return schema.type === 'integer' ? `${above + 1} or more` : `above ${above}`;
  if (least !== undefined) return `${least} or more`;
  return max === undefined ? '' : `at most ${max}`;
}

/** The general limits of texts are not repeated. */
function length(schema: JsonSchema): string {
  const [least = 0, most = MAX.value] = [getNumber(schema, 'minLength'), getNumber(schema, 'maxLength')];
  const bounds = [
    least > 1 ? `at least ${least} characters` : least === 1 ? 'not empty' : '',
    most < MAX.value ? `at most ${most} characters` : '',
  ];
  return bounds.filter(Boolean).join(', ');
}

function pattern(schema: JsonSchema): string {
  return typeof schema['pattern'] === 'string' ? `like \`${schema['pattern']}\`` : '';
}

function code(value: unknown): string {
  return `\`${String(value)}\``;
}

function getNumber(schema: JsonSchema, keyword: string): number | undefined {
  const value = schema[keyword];
  return typeof value === 'number' ? value : undefined;
}
