import { ServiceError } from '@switchyard/contracts';

/** Characters of all inputs together. */
const MAX_INPUT_CHARS = 262_144;

/** Returns the inputs as texts; values that are no text as JSON. Throws INVALID_ARGUMENT for more than fit a message. */
export function readInputs(inputs: Readonly<Record<string, unknown>> = {}): Record<string, string> {
  const texts = Object.entries(inputs).map(([name, value]): [string, string] => [name, toText(value)]);
  const length = texts.reduce((sum, [name, text]) => sum + name.length + text.length, 0);
  if (length > MAX_INPUT_CHARS)
    throw new ServiceError('INVALID_ARGUMENT', `inputs have ${length} characters, the limit is ${MAX_INPUT_CHARS}. Shorten them.`);
  return Object.fromEntries(texts);
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
