import type { JsonSchema } from '@switchyard/contracts';
import { describeDefault, describeType } from '../../settings/describe-schema.ts';

export function code(text: string): string {
  return `\`${text}\``;
}

/** Escapes free text for a table cell: no line breaks, no HTML. */
export function cell(text: string): string {
  return text.replaceAll('\n', ' ').replaceAll('<', '&lt;');
}

export function row(cells: readonly string[]): string {
  return `| ${cells.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`;
}

export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  return [row(heads), row(heads.map(() => '---')), ...rows.map(row)].join('\n');
}

export function json(value: unknown): string {
  return `\`\`\`json\n${JSON.stringify(value, undefined, 2)}\n\`\`\``;
}

export function described({ description }: JsonSchema): string {
  return typeof description === 'string' ? description : '';
}

/** Renders the fields of an object as a table, any other schema as a sentence. `must` labels required fields. */
export function fields(schema: JsonSchema, must: 'required' | 'always'): string {
  const { properties, required = [] } = schema;
  if (properties === undefined) return cell(sentence(described(schema) || describeType(schema)));
  const rows = Object.entries(properties).map(([name, field]) => {
    const preset = describeDefault(field);
    return [code(name), cell(describeType(field)), required.includes(name) ? must : cell(preset), cell(described(field))];
  });
  return rows.length === 0 ? 'No fields.' : table(['Field', 'Type', must === 'required' ? 'Default' : '', 'Meaning'], rows);
}

export function sentence(text: string): string {
  return text === '' ? '' : `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
}
