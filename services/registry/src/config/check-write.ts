import { invalidParams, isImmutable, mutableAlternatives, ServiceError, type Issue } from '@switchyard/contracts';
import { refuseUnsafeKeys, sentReferences, StartError, type ConfigurationSource, type Tree } from '@switchyard/service-kit';
import { checkReferences } from './check-references.ts';
import { changedPaths } from './config-changes.ts';
import { redactedPaths } from './stored-layer.ts';

export interface ProposedLayer {
  /** The stored layer before the write. */
  before: Tree;
  /** The stored layer after the write. */
  after: Tree;
  /** Dotted paths in the request, changed or not. */
  named: readonly string[];
  /** Patterns of immutable paths that this write may change. */
  opened?: readonly string[];
}

type Configuration = Pick<ConfigurationSource, 'current' | 'pinned' | 'preview'>;

/** Returns all errors of a write, in the order in which a user would fix them. Empty if it may be written. */
export function checkWrite(configuration: Configuration, { before, after, named, opened = [] }: ProposedLayer): ServiceError[] {
  const unsafe = catchStartError(() => refuseUnsafeKeys(after, 'The configuration'));
  if (unsafe) return [unsafe];
  const { immutableOverrides } = configuration.current.config;
  const changed = changedPaths(before, after);
  const pathErrors = [
    ...[...new Set([...named, ...changed])].filter((path) => isImmutable(path, [...immutableOverrides, ...opened])).map(immutable),
    ...named.flatMap((path) => pinned(configuration, path)),
  ];
  if (pathErrors.length > 0) return pathErrors;
  const redacted = redactedPaths(after);
  if (redacted.length > 0) return [invalidParams(redacted.map(redactedIssue))];
  const headerReferencesBefore = new Map(sentReferences(before));
  const newHeaderReferences = sentReferences(after).filter(([path, reference]) => headerReferencesBefore.get(path) !== reference);
  if (newHeaderReferences.length > 0) return [invalidParams(newHeaderReferences.map(([path]) => headerReferenceIssue(path)))];
  const referenceErrors = checkReferences(configuration.current.config, before, after);
  if (referenceErrors.length > 0) return referenceErrors;
  const invalid = catchStartError(() => configuration.preview(after));
  return invalid ? [invalid] : [];
}

function immutable(path: string): ServiceError {
  const others = mutableAlternatives(path);
  const hint = others.length === 0 ? '' : `. Alternatives: ${others.join(', ')}`;
  return preconditionError('IMMUTABLE', `${path} cannot be changed at runtime. Change it in a file and restart${hint}`);
}

function pinned(configuration: Pick<ConfigurationSource, 'pinned'>, path: string): ServiceError[] {
  const pin = configuration.pinned().find((one) => isWithin(path, one.path) || isWithin(one.path, path));
  return pin === undefined
    ? []
    : [preconditionError('PINNED', `${path} is set by the environment variable ${pin.variable}, which overrides stored values`)];
}

function isWithin(path: string, above: string): boolean {
  return path === above || path.startsWith(`${above}.`);
}

function redactedIssue(path: string): Issue {
  const expected = 'the secret, or ${NAME} for a variable that contains it';
  const received = 'the placeholder of a redacted secret';
  return { path, expected, received, message: `${path}: expected ${expected}, got ${received}` };
}

/** The caller also chooses the address, so that a header could send any variable to it. */
function headerReferenceIssue(path: string): Issue {
  const expected = 'a literal header; use apiKeyName for a key, or set the header in a file';
  const received = 'a reference to a variable';
  return { path, expected, received, message: `${path}: expected ${expected}, got ${received}` };
}

/** Turns the error of the settings, which contains no values, into an error of the call. */
function catchStartError(check: () => unknown): ServiceError | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof StartError) return new ServiceError('INVALID_ARGUMENT', error.message, { details: { reason: 'CONFIG_INVALID' } });
    throw error;
  }
}

function preconditionError(reason: string, message: string): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', message, { details: { reason } });
}
