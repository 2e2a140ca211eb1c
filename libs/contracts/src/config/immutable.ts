import { SECTION_NAMES, topLevel } from './sections.ts';

/**
 * Paths that `config.*` must not write; `*` matches one name. They are changed in a file, or by the methods of `CONFIG_WRITE_METHODS`.
 */
export const IMMUTABLE_PATHS: readonly string[] = [
  ...Object.keys(topLevel).filter((key) => key !== 'logLevel'),
  'config',
  'security',
  'gateway.tls',
  'gateway.tokens',
  'gateway.host',
  'gateway.port',
  'gateway.web.path',
  'agents',
  'channels',
  'integrations',
  'media',
  'tts',
  'imageGen',
  'providers',
  'approvals',
  'browser.allowLoopbackNavigation',
  'browser.chromePath',
  'browser.noSandbox',
  'daemon.logging',
];

/** Paths inside `IMMUTABLE_PATHS` that `config.*` may write. */
export const MUTABLE_EXCEPTIONS: readonly string[] = [
  'agents.*.skills.watchEnabled',
  'agents.*.skills.watchDebounceMs',
  'agents.*.skills.discoveryPaths',
  'agents.*.maxSteps',
  'agents.*.promptTimeout.promptTimeoutMs',
  'agents.*.promptTimeout.retryPromptTimeoutMs',
  'agents.*.promptTimeout.stallCeilingMultiplier',
  'agents.*.operationModels',
  'agents.*.model',
  'agents.*.provider',
  'channels.*.mediaProcessing',
  'integrations.mcp.servers',
  'providers.entries',
];

/** Paths that no method may write, including `agents.update`. */
export const OPERATOR_ONLY_PATHS: readonly string[] = ['agents.*.skills.execSandbox', 'config'];

/** Settings of an agent that name secrets. All secrets belong to the tenant of the installation, so other tenants cannot set them. */
export const INSTALLATION_SECRET_SETTINGS: readonly string[] = ['modelFailover.authProfiles', 'oauthProfiles', 'secrets'];

/** The methods that change what `config.*` may not. */
export const CONFIG_WRITE_METHODS: Readonly<Record<string, string>> = {
  agents: 'agents.create, agents.update, agents.delete, heartbeat.update',
  'gateway.tokens': 'tokens.create, tokens.rotate, tokens.revoke',
  channels: 'channels.enable, channels.disable',
};

/**
 * Whether replacing the value at this path is refused. An unknown section is: what is not known is not writable. `overrides` are the
 * paths of `config.immutableOverrides`, which the operator opened; what no method may write stays closed.
 */
export function isImmutable(path: string, overrides: readonly string[] = []): boolean {
  const names = path.split('.');
  if (!(SECTION_NAMES as readonly string[]).includes(names[0] ?? '')) return true;
  if (OPERATOR_ONLY_PATHS.some((never) => covers(never, names) || coversAbove(never, names))) return true;
  if ([...MUTABLE_EXCEPTIONS, ...overrides].some((open) => covers(open, names))) return false;
  return IMMUTABLE_PATHS.some((immutable) => covers(immutable, names) || immutable.startsWith(`${path}.`));
}

/** Whether this path is one that no method may write. */
export function isOperatorOnly(path: string): boolean {
  const names = path.split('.');
  return OPERATOR_ONLY_PATHS.some((pattern) => covers(pattern, names));
}

/** Every path that a patch writes: lists and scalars are values, objects are descended into. */
export function writtenPaths(patch: unknown, prefix = ''): string[] {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return [prefix];
  return Object.entries(patch).flatMap(([key, value]) => writtenPaths(value, prefix === '' ? key : `${prefix}.${key}`));
}

/** Alternatives to name when a write to this path is rejected: writable neighbouring paths, and methods. */
export function mutableAlternatives(path: string): string[] {
  const section = path.split('.')[0] ?? '';
  const others = Object.entries(CONFIG_WRITE_METHODS).flatMap(([prefix, methods]) =>
    path === prefix || path.startsWith(`${prefix}.`) ? [methods] : [],
  );
  return [...MUTABLE_EXCEPTIONS.filter((exception) => exception.startsWith(`${section}.`)), ...others];
}

/** Whether `pattern` names this path or one above it. */
export function covers(pattern: string, names: readonly string[]): boolean {
  const requestedItems = pattern.split('.');
  return requestedItems.length <= names.length && requestedItems.every((name, index) => name === '*' || name === names[index]);
}

/** Whether this path is above one that `pattern` names, so that replacing it replaces that one too. */
function coversAbove(pattern: string, names: readonly string[]): boolean {
  const wanted = pattern.split('.');
  return names.length < wanted.length && names.every((name, index) => wanted[index] === '*' || wanted[index] === name);
}
