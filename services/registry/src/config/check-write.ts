import { invalidParams, isImmutable, mutableAlternatives, ServiceError, type Issue } from '@switchyard/contracts';
import { refuseUnsafeKeys, sentReferences, StartError, type ConfigurationSource, type Tree } from '@switchyard/service-kit';
import { checkReferences } from './check-references.ts';
import { changedPaths } from './config-changes.ts';
import { redactedPaths } from './stored-layer.ts';

export interface Proposed {
  /** What is stored now. */
  before: Tree;
  /** What is to be stored. */
  after: Tree;
  /** Dotted paths that the caller names, whether they change or not. */
  named: readonly string[];
}

type Configuration = Pick<ConfigurationSource, 'current' | 'pinned' | 'preview'>;

/** Everything that speaks against a write, in the order a reader would mend it. Empty: it may be written. */
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
  return refusal('IMMUTABLE', `${path} cannot be changed while everything runs: change it in a file and start again${hint}`);
}

function pinned(configuration: Pick<ConfigurationSource, 'pinned'>, path: string): ServiceError[] {
  const pin = configuration.pinned().find((one) => within(path, one.path) || within(one.path, path));
  return pin === undefined
    ? []
    : [refusal('PINNED', `${path} is set by the environment variable ${pin.variable}, which stands above what is stored`)];
}

function within(path: string, above: string): boolean {
  return path === above || path.startsWith(`${above}.`);
}

function redactedIssue(path: string): Issue {
  const expected = 'the secret, or ${NAME} for a variable that has it';
  const received = 'the mark that stands for a secret that is not shown';
  return { path, expected, received, message: `${path}: expected ${expected}, got ${received}` };
}

/** Whoever writes here chooses the address too, and would be sent any variable there is. */
function sentIssue(path: string): Issue {
  const expected = 'the header itself; a key goes into apiKeyName, or the header into a file';
  const received = 'the name of a variable';
  return { path, expected, received, message: `${path}: expected ${expected}, got ${received}` };
}

/** What the settings refuse is a sentence without the values. */
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
