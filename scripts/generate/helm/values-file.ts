import { z } from 'zod';

type Schema = { description?: string; default?: unknown; properties?: Record<string, Schema> };

/** Returns the values.schema.json of a chart. Helm 3 reads draft 7. */
export function valuesSchema(values: z.ZodType): string {
  return `${JSON.stringify(jsonSchema(values), null, 2)}\n`;
}

/** Returns the values.yaml of a chart: each default with its description. */
export function valuesFile(values: z.ZodType): string {
  return `# Written by \`make generate\`. Put your values into a file of your own.\n${lines(jsonSchema(values), values.parse({}), '')}`;
}

function jsonSchema(values: z.ZodType): Schema {
  return z.toJSONSchema(values, { target: 'draft-7', io: 'input' }) as Schema;
}

function lines(schema: Schema, value: unknown, indent: string): string {
  return Object.entries(value as Record<string, unknown>)
    .map(([key, inner]) => {
      const property = schema.properties?.[key] ?? {};
      const comment = property.description === undefined ? '' : `${indent}# ${property.description}\n`;
      const nested = property.properties !== undefined && Object.keys(inner as object).length > 0;
      return nested
        ? `${comment}${indent}${key}:\n${lines(property, inner, `${indent}  `)}`
        : `${comment}${indent}${key}: ${JSON.stringify(inner)}\n`;
    })
    .join('');
}
