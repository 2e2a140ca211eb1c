import { describeIssues, MAX } from '@switchyard/contracts';
import type { z } from 'zod';
import { RefusalError, type Refusal } from '../request/refusal.ts';

/** Hint for rejected requests that `/openai/v1` and a lenient token would accept. */
export const LENIENT_TOKEN_HINT = `Send it to /openai/v1 with the same token. A lenient token accepts this request. Create one: bin/switchyard rpc tokens.create id=NAME scopes='["rpc"]' lenient=true`;

/** Throws a refusal for a body with more fields than any `/v1` request has, before each field is validated. */
export function checkFieldCount(body: unknown): void {
  if (typeof body !== 'object' || body === null || Object.keys(body).length <= MAX.few) return;
  throw new RefusalError(createBodyRefusal(`Invalid request: body: expected at most ${MAX.few} fields`));
}

/** Creates the refusal of a body that fails validation. `param` is the first invalid field. */
export function createInvalidBodyRefusal(error: z.ZodError): Refusal {
  const [first] = error.issues;
  const wholeBody = first?.path.length === 0 && first.code !== 'unrecognized_keys';
  if (wholeBody) return createBodyRefusal('Invalid request: body: expected object');
  const issues = describeIssues(error);
  return createBodyRefusal(`Invalid request: ${issues.map(({ message }) => message).join('; ')}`, issues[0]?.path.split('.')[0]);
}

function createBodyRefusal(message: string, param?: string): Refusal {
  return { status: 400, message, code: 'INVALID_ARGUMENT', ...(param === undefined ? {} : { param }) };
}

/** Creates the error for one invalid field, or for a value at a path in it. */
export function createFieldError(field: string, problem: string, path = field): RefusalError {
  return new RefusalError(createBodyRefusal(`Invalid request: ${path}: ${problem}`, field));
}
