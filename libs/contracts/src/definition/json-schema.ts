import { z } from 'zod';
import { readMaxKeys } from '../values/max-keys.ts';

/** OpenRPC builds on draft 7, OpenAPI 3.1 on draft 2020-12. */
type Target = 'draft-7' | 'draft-2020-12';

/** The subset of JSON Schema that `z.toJSONSchema` produces for our schemas. */
export interface JsonSchema {
  [keyword: string]: unknown;
  type?: string | string[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
  definitions?: Record<string, JsonSchema>;
}

/** The formats that draft 7 knows. */
const FORMATS: ReadonlySet<string> = new Set(
  'date-time date time email idn-email hostname idn-hostname ipv4 ipv6 uri uri-reference iri iri-reference uri-template json-pointer relative-json-pointer regex'.split(
    ' ',
  ),
);

/** JSON Schema of the accepted input. */
export function inputSchema(schema: z.ZodType, target: Target = 'draft-7'): JsonSchema {
  return project(schema, 'input', target);
}

/** JSON Schema of the output. Objects stay open, because results and payloads grow and readers ignore unknown fields. */
export function outputSchema(schema: z.ZodType, target: Target = 'draft-7'): JsonSchema {
  return project(schema, 'output', target);
}

function project(schema: z.ZodType, io: 'input' | 'output', target: Target): JsonSchema {
  const { $schema: _, ...projected } = z.toJSONSchema(schema, {
    io,
    target,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      if (io === 'output' && zodSchema._zod.def.type === 'object') openUp(zodSchema as z.core.$ZodObject, jsonSchema);
      const names = readMaxKeys(zodSchema);
      if (names !== undefined) jsonSchema.maxProperties = names;
      // Other formats are specific to zod; an equivalent pattern is beside them.
      if (jsonSchema.format !== undefined && !FORMATS.has(jsonSchema.format)) delete jsonSchema.format;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return projected as JsonSchema;
}

function openUp(schema: z.core.$ZodObject, projected: z.core.JSONSchema.BaseSchema): void {
  if (schema._zod.def.catchall === undefined) delete projected.additionalProperties;
}
