import { isShallow } from '../openai-fields.ts';

/** Standard fields of an assistant message, and fields that clients and SDKs add for themselves. */
const MESSAGE_FIELDS = new Set(
  'role content tool_calls function_call refusal annotations audio name id index parsed metadata timestamp cache_control'.split(' '),
);
/** The same of a tool call. */
const CALL_FIELDS = new Set('id index type function name arguments cache_control'.split(' '));

/** Selects the fields of an assistant message that belong to its provider. */
export function selectMessageFields(message: object): Record<string, unknown> | undefined {
  return selectFields(message, MESSAGE_FIELDS);
}

/** Selects the fields of a tool call that belong to its provider. */
export function selectCallFields(call: object): Record<string, unknown> | undefined {
  return selectFields(call, CALL_FIELDS);
}

/** Selects strings, lists and objects, which are what providers expect back. Numbers and flags are settings of clients. */
function selectFields(source: object, known: ReadonlySet<string>): Record<string, unknown> | undefined {
  const fields = Object.entries(source).filter(([name, value]) => !known.has(name) && name !== '__proto__' && isProviderValue(value));
  return fields.length === 0 ? undefined : Object.fromEntries(fields);
}

function isProviderValue(value: unknown): boolean {
  return typeof value === 'string' ? value !== '' : typeof value === 'object' && value !== null && isShallow(value);
}
