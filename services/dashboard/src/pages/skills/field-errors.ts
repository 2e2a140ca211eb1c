import type { ErrorData } from '@switchyard/contracts';
import { useState } from 'react';

/** Messages of a refused call by the parameter that each is about. */
export type FieldErrors = Readonly<Record<string, string>>;

/** Errors without a path, by code or reason, with the parameter that causes them. */
const CAUSES: Readonly<Record<string, string>> = {
  ALREADY_EXISTS: 'name',
  NOT_FOUND: 'name',
  CONTENT_SCAN: 'content',
  NOT_DEFAULT_AGENT: 'scope',
};

/** Returns the messages of an error for these fields. An error about anything else has none. */
export function readFieldErrors(error: unknown, fields: readonly string[]): FieldErrors {
  const { code = '', reason = '', issues = [] } = (error as { data?: Partial<ErrorData> }).data ?? {};
  const found = issues.map(({ path, message }): [string, string] => [path.split(/[.[]/)[0] ?? '', message]);
  const cause = CAUSES[reason] ?? CAUSES[code];
  if (cause !== undefined) found.push([cause, (error as Error).message]);
  return Object.fromEntries(found.filter(([field]) => fields.includes(field)).toReversed());
}

/** Runs calls of a form. A refusal that names one of the fields is shown there; any other is thrown. */
export function useFieldErrors(fields: readonly string[]) {
  const [errors, setErrors] = useState<FieldErrors>({});
  const submit = async (work: () => Promise<unknown>): Promise<void> => {
    setErrors({});
    try {
      await work();
    } catch (error) {
      const found = readFieldErrors(error, fields);
      if (Object.keys(found).length === 0) throw error;
      setErrors(found);
    }
  };
  return { errors, submit };
}
