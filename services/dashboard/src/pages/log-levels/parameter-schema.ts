import type { MethodName, OpenRpcDocument } from '@switchyard/contracts';

type Schema = Readonly<Record<string, unknown>>;

/** Returns the values that a parameter may have, following one reference. */
export function listEnum(document: OpenRpcDocument | undefined, method: MethodName, parameter: string): string[] {
  const found = document?.methods.find(({ name }) => name === method)?.params.find(({ name }) => name === parameter);
  const schema = found && resolve(document, found.schema);
  const values = schema?.['enum'];
  return Array.isArray(values) ? values.map(String) : [];
}

function resolve(document: OpenRpcDocument | undefined, schema: Schema): Schema | undefined {
  const reference = schema['$ref'];
  if (typeof reference !== 'string') return schema;
  let target: unknown = document;
  for (const part of reference.slice(2).split('/')) target = (target as Schema | undefined)?.[part];
  return target as Schema | undefined;
}
