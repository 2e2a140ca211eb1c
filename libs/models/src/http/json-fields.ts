/** Fields of untrusted JSON. Each field is validated where it is used. */
export type JsonFields = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the fields of an object, and none for other values. */
export function getFields(value: unknown): JsonFields {
  return isJsonObject(value) ? value : {};
}

/** Returns a non-empty string. */
export function getText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Returns a non-negative finite number. */
export function getAmount(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && Number.isFinite(value) ? value : undefined;
}
