import { invalidParams, isImmutable, mutableAlternatives, ServiceError, type Issue } from '@switchyard/contracts';
import { refuseUnsafeKeys, sentReferences, StartError, type ConfigurationSource, type Tree } from '@switchyard/service-kit';
import { checkReferences } from './check-references.ts';
import { changedPaths } from './config-changes.ts';
import { redactedPaths } from './stored-layer.ts';

export interface Proposed {
  /** The stored layer before the write. */
  before: Tree;
  /** The stored layer after the write. */
  after: Tree;
  /** Dotted paths in the request, changed or not. */
  named: readonly string[];
}

type Configuration = Pick<ConfigurationSource, 'current' | 'pinned' | 'preview'>;

/** Returns all errors of a write, in the order in which a user would fix them. Empty if it may be written. */
export function checkWrite(configuration: Configuration, { before, after, named }: Proposed): ServiceError[] {
  const unsafe = thrownBy(() => refuseUnsafeKeys(after, 'The configuration'));
  if (unsafe) return [unsafe];
  const { immutableOverrides } = configuration.current.config;
  const changed = changedPaths(before, after);
  const refused = [
    ...[...new Set([...named, ...changed])].filter((path) => isImmutable(path, immutableOverrides)).map(immutable),
    ...named.flatMap((path) => pinned(configuration, path)),
  ];
  if (refused.length > 0) return refused;
  const hidden = redactedPaths(after);
  if (hidden.length > 0) return [invalidParams(hidden.map(redactedIssue))];
  const sentBefore = new Map(sentReferences(before));
  const sent = sentReferences(after).filter(([path, reference]) => sentBefore.get(path) !== reference);
  if (sent.length > 0) return [invalidParams(sent.map(([path]) => sentIssue(path)))];
  const closed = checkReferences(configuration.current.config, before, after);
  if (closed.length > 0) return closed;
  const invalid = thrownBy(() => configuration.preview(after));
  return invalid ? [invalid] : [];
}

function immutable(path: string): ServiceError {
  const others = mutableAlternatives(path);
  const hint = others.length === 0 ? '' : `; instead: ${others.join(', ')}`;
  return refusal('IMMUTABLE', `${path} cannot be changed at runtime. Change it in a file and restart${hint}`);
}

function pinned(configuration: Pick<ConfigurationSource, 'pinned'>, path: string): ServiceError[] {
  const pin = configuration.pinned().find((one) => within(path, one.path) || within(one.path, path));
  return pin === undefined
    ? []
    : [refusal('PINNED', `${path} is set by the environment variable ${pin.variable}, which overrides stored values`)];
}

function within(path: string, above: string): boolean {
  return path === above || path.startsWith(`${above}.`);
}

function redactedIssue(path: string): Issue {
  const expected = 'the secret, or ${NAME} for a variable that contains it';
  const received = 'the placeholder of a redacted secret';
  return { path, expected, received, message: `${path}: expected ${expected}, got ${received}` };
}

/** The caller also chooses the address, so that a header could send any variable to it. */
function sentIssue(path: string): Issue {
  const expected = 'a literal header; use apiKeyName for a key, or set the header in a file';
  const received = 'a reference to a variable';
  return { path, expected, received, message: `${path}: expected ${expected}, got ${received}` };
}

/** Turns the error of the settings, which contains no values, into an error of the call. */
function thrownBy(look: () => unknown): ServiceError | undefined {
  try {
    look();
    return undefined;
  } catch (error) {
    if (error instanceof StartError) return new ServiceError('INVALID_ARGUMENT', error.message, { details: { reason: 'CONFIG_INVALID' } });
    throw error;
  }
}

function refusal(reason: string, message: string): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', message, { details: { reason } });
}
