import { createHash } from 'node:crypto';
import type { CallerTool } from '@switchyard/contracts';
import { isRecord } from './openai-fields.ts';

/** Names of functions that every provider accepts. */
const MAX_FUNCTION_NAME = 64;
const HASH_CHARS = 8;

const INPUT_SCHEMA = {
  type: 'object',
  properties: { input: { type: 'string', description: 'the complete input of the tool' } },
  required: ['input'],
  additionalProperties: false,
};

/** A tool whose input is text instead of JSON, possibly in a grammar. */
export interface CustomTool {
  name: string;
  description?: string | null | undefined;
  format?: unknown;
}

/** Converts a custom tool to a function with one string. Models that know functions only cannot be held to its grammar, so they read it. */
export function toFunctionTool({ name, description, format }: CustomTool): CallerTool {
  const grammar = readGrammar(format);
  const texts = [description, grammar].filter((text) => text != null && text !== '');
  return { name, ...(texts.length === 0 ? {} : { description: texts.join('\n\n') }), parameters: INPUT_SCHEMA };
}

function readGrammar(format: unknown): string | undefined {
  if (!isRecord(format)) return undefined;
  // Chat completions nest the grammar one level deeper than responses.
  const grammar = isRecord(format['grammar']) ? format['grammar'] : format;
  const { syntax, definition } = grammar;
  if (typeof definition !== 'string') return undefined;
  return `The input must match this ${typeof syntax === 'string' ? syntax : 'formal'} grammar:\n${definition}`;
}

/** Renders the input of a custom tool as arguments of its function. */
export function toFunctionArguments(input: string): string {
  return JSON.stringify({ input });
}

/** Reads the input of a custom tool from the arguments of its function. Arguments of another shape are the input themselves. */
export function readCustomInput(args: string): string {
  const parsed = parseJson(args);
  return isRecord(parsed) && typeof parsed['input'] === 'string' ? parsed['input'] : args;
}

/** Names the function of a tool in a namespace. A name that is too long for providers ends with a digest. */
export function toFunctionName(namespace: string | null | undefined, name: string): string {
  if (namespace == null || namespace === '') return name;
  const separator = namespace.endsWith('__') ? '' : '__';
  const full = `${namespace}${separator}${name}`.replaceAll(/[^\w-]/g, '_');
  if (full.length <= MAX_FUNCTION_NAME) return full;
  const digest = createHash('sha256').update(full).digest('hex').slice(0, HASH_CHARS);
  return `${full.slice(0, MAX_FUNCTION_NAME - HASH_CHARS - 1)}_${digest}`;
}

/** Parses JSON; undefined for other text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
