import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { wrongUsage } from '../output/failure.ts';
import { isObject } from '../output/json-values.ts';
import { self } from '../server/installation.ts';

/** Reads an object from a YAML or JSON file; `-` is standard input. */
export function readDocument(file: string): Record<string, unknown> {
  const name = file === '-' ? 'The input' : file;
  const value = parsed(getText(file), name);
  if (isObject(value)) return value;
  throw wrongUsage(`${name} must contain one YAML or JSON object.`, `${self()} config schema`);
}

function getText(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw wrongUsage(`${file} cannot be read (${code}).`, `${self()} config --help`);
  }
}

function parsed(text: string, name: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    const [reason = ''] = (error as Error).message.split('\n');
    throw wrongUsage(`${name} is not valid YAML or JSON: ${reason.replace(/:$/, '')}.`, `${self()} config --help`);
  }
}
