import { isJsonObject, type JsonFields } from '../http/json-fields.ts';

/** Standard fields of an assistant message and of a tool call. */
const MESSAGE_FIELDS = new Set(['role', 'content', 'tool_calls', 'function_call', 'refusal', 'annotations', 'audio', 'name']);
const CALL_FIELDS = new Set(['id', 'index', 'type', 'function']);
/** Fields that a stream repeats in every fragment of a value. They are replaced, other strings are joined. */
const REPEATED_FIELDS = new Set(['type', 'id', 'index', 'format', 'name', 'role']);

/** Selects the fields of an assistant message that are not part of the chat completions API. */
export function selectMessageFields(message: JsonFields): JsonFields | undefined {
  return selectFields(message, MESSAGE_FIELDS);
}

/** Selects the fields of a tool call that are not part of the chat completions API. */
export function selectCallFields(call: JsonFields): JsonFields | undefined {
  return selectFields(call, CALL_FIELDS);
}

/** Selects strings, lists and objects. Numbers, flags and empty values are settings, which providers do not expect back. */
function selectFields(source: JsonFields, known: ReadonlySet<string>): JsonFields | undefined {
  let selected: Record<string, unknown> | undefined;
  for (const name in source) {
    if (known.has(name) || name === '__proto__') continue;
    const value = source[name];
    if (typeof value === 'string' ? value !== '' : typeof value === 'object' && value !== null && Object.keys(value).length > 0)
      (selected ??= {})[name] = value;
  }
  return selected;
}

/** Merges the fields of two fragments of a stream. */
export function mergeFields(current: JsonFields | undefined, more: JsonFields | undefined): JsonFields | undefined {
  if (current === undefined || more === undefined) return current ?? more;
  const merged: Record<string, unknown> = { ...current };
  for (const [name, value] of Object.entries(more)) {
    if (name === '__proto__') continue;
    merged[name] = Object.hasOwn(current, name) && !REPEATED_FIELDS.has(name) ? mergeValues(current[name], value) : value;
  }
  return merged;
}

function mergeValues(current: unknown, more: unknown): unknown {
  if (more == null) return current;
  if (typeof current === 'string' && typeof more === 'string') return current + more;
  if (Array.isArray(current) && Array.isArray(more)) return mergeLists(current, more);
  return isJsonObject(current) && isJsonObject(more) ? mergeFields(current, more) : more;
}

/** Merges entries with the same index. Entries without an index are appended. */
function mergeLists(current: readonly unknown[], more: readonly unknown[]): unknown[] {
  const merged = [...current];
  for (const entry of more) {
    const index = isJsonObject(entry) ? entry['index'] : undefined;
    const at = index === undefined ? -1 : merged.findIndex((known) => isJsonObject(known) && known['index'] === index);
    if (at === -1) merged.push(entry);
    else merged[at] = mergeValues(merged[at], entry);
  }
  return merged;
}
