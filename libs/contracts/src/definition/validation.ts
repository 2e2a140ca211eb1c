import type { z } from 'zod';
import { ServiceError, type Issue } from './errors.ts';
import { listKnownNames } from './known-names.ts';
import { closest } from './spelling-suggestion.ts';

const MAX_ISSUES = 10;
const MAX_NAME = 64;
/** Number of values up to which all faults are reported. */
const SMALL = 256;
const ALL_FAULTS = { reportInput: true } as const;
const FIRST_FAULT = { reportInput: true, abortEarly: true } as const;

type ZodIssue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** Parses or throws INVALID_ARGUMENT in the one wording every transport shows. The value that came is never repeated. */
export function parseParams<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const parsed = validate(schema, value);
  if (parsed.success) return parsed.data;
  throw invalidParams(describeIssues(parsed.error, schema));
}

/**
 * Parses untrusted input. Validation stops at the first fault, so that a million faults cost no more than one. Small inputs are then
 * validated completely, so that a person sees all faults at once.
 */
export function validate<T extends z.ZodType>(schema: T, value: unknown): z.ZodSafeParseResult<z.output<T>> {
  const parsed = schema.safeParse(value, FIRST_FAULT);
  return parsed.success || !isSmall(value) ? parsed : schema.safeParse(value, ALL_FAULTS);
}

/** `Invalid params: <path>: expected <type>, got <type>`, with up to ten issues for machines. */
export function invalidParams(issues: readonly Issue[]): ServiceError {
  const text = issues.map((issue) => issue.message).join('; ');
  return new ServiceError('INVALID_ARGUMENT', `Invalid params: ${text}`, { details: { issues } });
}

/**
 * Turns a schema's complaints into our wording: path, what was expected, what kind of thing came. With the schema, an unknown name is
 * answered with the accepted name that it resembles.
 */
export function describeIssues(error: z.ZodError, schema?: z.core.$ZodType): Issue[] {
  return error.issues
    .slice(0, MAX_ISSUES)
    .flatMap((issue) => (issue.code === 'unrecognized_keys' ? describeUnknownNames(issue, schema) : expand(issue, [])))
    .slice(0, MAX_ISSUES);
}

/** Names the accepted name that an unknown one resembles. */
function describeUnknownNames({ path, keys }: z.core.$ZodIssueUnrecognizedKeys, schema: z.core.$ZodType | undefined): Issue[] {
  const known = schema === undefined ? [] : listKnownNames(schema, path);
  return keys.slice(0, MAX_ISSUES).map((key) => {
    // A name that another form accepts is not misspelled.
    const similar = key.length > MAX_NAME || known.includes(key) ? undefined : closest(key, known);
    return toIssue([...path, key], 'no such parameter', `an unknown name${similar === undefined ? '' : ` (did you mean ${similar}?)`}`);
  });
}

function expand(issue: ZodIssue, above: Path): Issue[] {
  const path = [...above, ...issue.path];
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.slice(0, MAX_ISSUES).map((key) => toIssue([...path, key], 'no such parameter', 'an unknown name'));
    case 'invalid_union':
      return expandUnion(issue, path);
    case 'invalid_key':
      return issue.issues.map((inner) => toIssue(path, `a name that is a ${expectation(inner)}`, received(inner)));
    case 'invalid_element':
      return issue.issues.flatMap((inner) => expand(inner, path));
    default:
      return [toIssue(path, expectation(issue), received(issue))];
  }
}

/** Stops counting at the limit and does not recurse, because untrusted input can be nested as deep as it is long. */
function isSmall(value: unknown): boolean {
  const matches = [value];
  for (const each of matches) {
    if (typeof each !== 'object' || each === null) continue;
    const parts: readonly unknown[] = Array.isArray(each) ? each : Object.keys(each);
    if (matches.length + parts.length > SMALL) return false;
    matches.push(...(Array.isArray(each) ? parts : Object.values(each)));
  }
  return true;
}

/** Returns the faults within the matching union member. If several or no members match, lists the alternatives. */
function expandUnion(issue: z.core.$ZodIssueInvalidUnion, path: Path): Issue[] {
  if (issue.discriminator !== undefined) {
    const options = property(issue, 'options');
    return [toIssue(path, getOne(Array.isArray(options) ? options : []), another(getKind(property(issue.input, issue.discriminator))))];
  }
  const meant = issue.errors.filter((branch) => !branch.some(isOtherKind));
  const [only] = meant;
  if (only !== undefined && (meant.length === 1 || meant.every(isTooLong))) return only.flatMap((inner) => expand(inner, path));
  const roots = issue.errors.map((branch) => branch.find((inner) => inner.path.length === 0));
  const forms = [...new Set(roots.map((root) => (root && isOtherKind(root) ? expectation(root) : undefined)))];
  const expected = forms.length === 0 || forms.includes(undefined) ? 'one of the accepted forms' : forms.join(' or ');
  return [toIssue(path, expected, received(issue))];
}

/** The value as a whole is of another kind than this form takes, so this form was not meant. */
function isOtherKind(issue: ZodIssue): boolean {
  return issue.path.length === 0 && (issue.code === 'invalid_type' || issue.code === 'invalid_value');
}

/** The value as a whole is longer than this form takes, so that nobody looked into it. */
function isTooLong([first]: readonly ZodIssue[]): boolean {
  return first?.code === 'too_big' && first.path.length === 0;
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function toIssue(path: Path, expected: string, got: string): Issue {
  const at = path.length === 0 ? 'params' : path.map(shortName).join('.');
  return { path: at, expected, received: got, message: `${at}: expected ${expected}, got ${got}` };
}

/** Names are the caller's too; a hostile one does not fill the answer. */
function shortName(key: PropertyKey): string {
  const name = String(key);
  return name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name;
}

const TYPES: Readonly<Record<string, string>> = { int: 'integer', nonoptional: 'a value', record: 'object', never: 'nothing' };

function expectation(issue: ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return TYPES[issue.expected] ?? issue.expected;
    case 'invalid_value':
      return getOne(issue.values);
    case 'too_small':
      return bound(issue, issue.minimum, issue.inclusive === false ? 'above' : 'of at least');
    case 'too_big':
      return bound(issue, issue.maximum, issue.inclusive === false ? 'below' : 'of at most');
    case 'invalid_format':
      return format(issue);
    case 'not_multiple_of':
      return `a multiple of ${String(issue.divisor)}`;
    case 'custom':
      return issue.message === 'Invalid input' ? 'a valid value' : issue.message;
    default:
      return 'one of the accepted forms';
  }
}

function bound(issue: { origin: string; exact?: boolean | undefined }, limit: number | bigint, comparison: string): string {
  const size = Number(limit);
  if (issue.origin === 'string' && size === 1 && comparison === 'of at least') return 'non-empty string';
  return `${measured(issue.origin)} ${issue.exact === true ? 'of exactly' : comparison} ${size}${unit(issue.origin, size)}`;
}

function format(issue: z.core.$ZodIssueInvalidStringFormat): string {
  if (issue.format === 'starts_with') return `string starting with ${JSON.stringify(property(issue, 'prefix'))}`;
  return issue.pattern !== undefined && issue.format === 'regex' ? `string matching ${issue.pattern}` : `${issue.format} string`;
}

function getOne(values: readonly unknown[]): string {
  const names = values.map((value) => JSON.stringify(value));
  return names.length === 1 ? String(names[0]) : `one of ${names.join(', ')}`;
}

function measured(origin: string): string {
  if (origin === 'int') return 'integer';
  return origin === 'record' || origin === 'map' ? 'object' : origin;
}

function unit(origin: string, size: number): string {
  const one = size === 1 ? '' : 's';
  if (origin === 'string') return ` character${one}`;
  if (measured(origin) === 'object') return ` name${one}`;
  return origin === 'array' || origin === 'set' ? ` item${one}` : '';
}

/** Never the value: its kind, and in which direction it misses. */
function received(issue: ZodIssue): string {
  if (!('input' in issue)) return 'another value';
  const kind = getKind(issue.input);
  switch (issue.code) {
    case 'invalid_type':
      return issue.expected === 'int' && kind === 'number' ? 'fractional number' : kind;
    case 'too_small':
      return kind === 'empty string' ? kind : `${issue.origin === 'number' || issue.origin === 'int' ? 'smaller' : 'shorter'} ${kind}`;
    case 'too_big':
      return `${issue.origin === 'array' || issue.origin === 'string' ? 'longer' : 'larger'} ${kind}`;
    case 'invalid_value':
    case 'invalid_format':
      return another(kind);
    case 'custom':
      return typeof issue.params?.received === 'string' ? issue.params.received : kind;
    default:
      return kind;
  }
}

function another(kind: string): string {
  return kind === 'string' || kind === 'number' || kind === 'boolean' ? `another ${kind}` : kind;
}

function getKind(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'string') return value === '' ? 'empty string' : 'string';
  return typeof value;
}
