import type { z } from 'zod';
import { ServiceError, type Issue } from './errors.ts';

const MAX_ISSUES = 10;

/** Parses or throws INVALID_ARGUMENT in the one wording every transport shows. The value that came is never repeated. */
export function parseParams<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success) return parsed.data;
  throw invalidParams(describeIssues(parsed.error));
}

/** `Invalid params: <path>: expected <type>, got <type>`, with up to ten issues for machines. */
export function invalidParams(issues: readonly Issue[]): ServiceError {
  const text = issues.map((issue) => issue.message).join('; ');
  return new ServiceError('INVALID_ARGUMENT', `Invalid params: ${text}`, { details: { issues } });
}

/** Turns a schema's complaints into our wording: path, what was expected, what kind of thing came. */
export function describeIssues(error: z.ZodError): Issue[] {
  return error.issues.flatMap(expand).slice(0, MAX_ISSUES);
}

function expand(issue: z.core.$ZodIssue): Issue[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => toIssue([...issue.path, key], 'no such parameter', 'an unknown name'));
  }
  return [toIssue(issue.path, expectation(issue), kindOf(issue.input))];
}

function toIssue(path: readonly PropertyKey[], expected: string, received: string): Issue {
  const at = path.length === 0 ? 'params' : path.map(String).join('.');
  return { path: at, expected, received, message: `${at}: expected ${expected}, got ${received}` };
}

function expectation(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.expected;
    case 'invalid_value':
      return `one of ${issue.values.map((value) => JSON.stringify(value)).join(', ')}`;
    case 'too_small':
      return `${noun(issue.origin)} ${issue.inclusive === false ? 'above' : 'of at least'} ${String(issue.minimum)}${unit(issue.origin)}`;
    case 'too_big':
      return `${noun(issue.origin)} ${issue.inclusive === false ? 'below' : 'of at most'} ${String(issue.maximum)}${unit(issue.origin)}`;
    case 'invalid_format':
      return issue.format === 'regex' ? `text matching ${issue.pattern ?? 'a pattern'}` : issue.format;
    case 'not_multiple_of':
      return `a multiple of ${String(issue.divisor)}`;
    case 'invalid_union':
      return 'one of the accepted forms';
    default:
      return issue.message || 'a valid value';
  }
}

function noun(origin: string): string {
  return origin === 'string' ? 'text' : origin === 'int' ? 'number' : origin;
}

function unit(origin: string): string {
  return origin === 'string' ? ' characters' : origin === 'array' ? ' items' : '';
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'string') return value === '' ? 'empty text' : 'string';
  return typeof value;
}
