import { describeIssues, MAX } from '@switchyard/contracts';
import type { z } from 'zod';
import { RefusalError, type Refusal } from '../request/refusal.ts';

/** Hint for rejected requests that a lenient token would accept. */
export const LENIENT_HOW_TO = `A lenient token takes this request: bin/switchyard rpc tokens.create id=NAME scopes='["rpc"]' lenient=true`;

/** Throws the refusal of a body with more fields than any request of `/v1` has: each would be looked at. */
export function fewFields(body: unknown): void {
  if (typeof body !== 'object' || body === null || Object.keys(body).length <= MAX.few) return;
  throw new RefusalError(badBody(`Invalid request: body: expected at most ${MAX.few} fields`));
}

/** The refusal of a body that its schema does not take; `param` is the field that is wrong. */
export function invalidBody(error: z.ZodError): Refusal {
  const [first] = error.issues;
  const wholeBody = first?.path.length === 0 && first.code !== 'unrecognized_keys';
  if (wholeBody) return badBody('Invalid request: body: expected object');
  const issues = describeIssues(error);
  return badBody(`Invalid request: ${issues.map(({ message }) => message).join('; ')}`, issues[0]?.path.split('.')[0]);
}

function badBody(message: string, param?: string): Refusal {
  return { status: 400, message, code: 'INVALID_ARGUMENT', ...(param === undefined ? {} : { param }) };
}

/** The refusal of one field, said in the words of all others. */
export function refusedField(field: string, what: string): RefusalError {
  return new RefusalError(badBody(`Invalid request: ${field}: ${what}`, field));
}
