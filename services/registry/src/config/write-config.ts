import type { Ctx } from '@switchyard/bus';
import { MAX, listUnusedSettings, ServiceError, type EventPayload } from '@switchyard/contracts';
import type { ConfigurationSource, Tree } from '@switchyard/service-kit';
import type { OutboxEvent, Store } from '@switchyard/store';
import { redactConfig } from './redact-config.ts';
import { changedPaths } from './config-changes.ts';
import { checkWrite, type ProposedLayer } from './check-write.ts';
import type { Version } from './version-storage.ts';
import type { Publisher } from './head-publisher.ts';
import { renderDiff } from './render-diff.ts';
import { describeNewCatchAlls } from './catch-all-mappings.ts';
import { tryVersion } from './trial.ts';
import type { Decision, Versions } from './version-chain.ts';
import type { CurrentConfiguration } from './stored-layer.ts';

/** Versions that are kept. Older ones are removed once every `FOLDED_EVERY` writes. */
const MAX_VERSIONS = 1_000;
const FOLD_INTERVAL = 100;

/** The configuration before and after a write. */
export interface ProposedConfiguration {
  before: Tree;
  after: Tree;
  agents: Readonly<Record<string, Tree>>;
}

export interface ConfigDeps {
  versions: Versions;
  publisher: Publisher;
  configuration: ConfigurationSource;
  store: Pick<Store, 'now'>;
  /** Returns the errors of the agents that a write changes. */
  checkAgents: (proposed: ProposedConfiguration) => Promise<ServiceError[]>;
}

/** Options of every write. */
export interface WriteOptions {
  baseSha?: string | undefined;
  message?: string | undefined;
  dryRun?: boolean | undefined;
}

/** The result of a write on the current configuration. */
export interface Plan {
  layer: Tree;
  /** Dotted paths in the request. */
  named: readonly string[];
  restores?: string;
  /** Patterns of immutable paths that the caller may write. */
  opened?: readonly string[];
}

export interface ConfigWrite {
  ctx: Pick<Ctx, 'principal' | 'signal' | 'log'>;
  options: WriteOptions;
  /** The message in the history if the caller gives none. */
  title: string;
  plan: (present: CurrentConfiguration) => Plan | Promise<Plan>;
}

/** A written version. */
export interface WrittenVersion {
  version: Version;
  before: Tree;
  notInForce?: string[];
  warnings?: string[];
}

/** Selects what the answer of a write says besides its result. */
export function pickNotes({ notInForce, warnings }: Pick<WrittenVersion, 'notInForce' | 'warnings'>) {
  return { ...(notInForce === undefined ? {} : { notInForce }), ...(warnings === undefined ? {} : { warnings }) };
}

/**
 * Tries one version in this process, then writes and publishes it. If another write was faster, `plan` runs again on the new configuration.
 */
export async function writeConfig(deps: ConfigDeps, { ctx, options, title, plan }: ConfigWrite): Promise<WrittenVersion> {
  const { versions, configuration } = deps;
  const { client, agent, tenant } = ctx.principal;
  const message = (options.message ?? title).slice(0, MAX.line);
  let before: Tree = {};
  let paths: readonly string[] = [];
  let goBack: (() => void) | undefined;
  const decide = async (head: Version): Promise<Decision> => {
    goBack?.();
    const { layer, named, restores, opened = [] } = await plan(describeCurrent(configuration, head.layer));
    const [error] = await checkProposed(deps, { before: head.layer, after: layer, named, opened });
    if (error) throw error;
    before = head.layer;
    paths = [...new Set([...named, ...changedPaths(head.layer, layer)])];
    goBack = tryVersion(configuration, layer);
    return createDecision(deps, { layer, paths, author: client, ...(restores === undefined ? {} : { restores }) });
  };
  const metadata = { author: client, agent, message, baseSha: options.baseSha, signal: ctx.signal };
  const version = await versions.commit(metadata, decide).catch((err: unknown) => {
    goBack?.();
    throw err;
  });
  ctx.log.audit({ client, tenant, sha: version.sha, keys: paths.slice(0, MAX.few) }, 'the configuration was changed');
  await publish(deps, ctx.log);
  if (version.number % FOLD_INTERVAL === 0)
    versions
      .fold(MAX_VERSIONS)
      .catch((err: unknown) => ctx.log.warn({ err }, 'failed to remove old versions of the configuration; retrying later'));
  return {
    version,
    before,
    ...describeIneffective(version.layer, paths),
    ...describeWarnings(configuration, { before, after: version.layer, paths }),
  };
}

/** Dry run of `writeConfig`: returns the errors and the diff. */
export async function checkConfig(deps: ConfigDeps, { options, plan }: Pick<ConfigWrite, 'options' | 'plan'>) {
  const { versions, configuration } = deps;
  const head = await versions.head();
  if (options.baseSha !== undefined) await versions.requireHead(options.baseSha);
  const { layer, named } = await plan(describeCurrent(configuration, head.layer));
  const errors = (await checkProposed(deps, { before: head.layer, after: layer, named })).map(({ message }) => message.slice(0, MAX.line));
  const paths = changedPaths(head.layer, layer);
  const valid = errors.length === 0;
  const outcome = valid
    ? {
        diff: await renderDiff(head.layer, layer),
        ...describeIneffective(layer, paths),
        ...describeWarnings(configuration, { before: head.layer, after: layer, paths }),
      }
    : {};
  return { dryRun: true as const, valid, errors: errors.slice(0, MAX.many), ...outcome };
}

/** Checks models and secrets only if all other checks pass. */
async function checkProposed({ configuration, checkAgents }: ConfigDeps, proposed: ProposedLayer): Promise<ServiceError[]> {
  const errors = checkWrite(configuration, proposed);
  if (errors.length > 0) return errors;
  const { before, after } = proposed;
  return checkAgents({ before, after, agents: configuration.preview(after).agents });
}

interface DecisionOptions {
  layer: Tree;
  paths: readonly string[];
  author: string;
  restores?: string;
  reason?: string;
}

/** A version with an event for each changed section. */
export function createDecision(
  { store }: Pick<ConfigDeps, 'store'>,
  { layer, paths, author, restores, reason }: DecisionOptions,
): Decision {
  const sections = Map.groupBy(paths, (path) => path.split('.')[0] ?? path);
  const event = (sha: string, section: string, keys: readonly string[]): OutboxEvent => {
    const [only = section] = keys;
    const key = keys.length === 1 && only !== section ? { key: only.slice(section.length + 1).slice(0, MAX.line) } : {};
    const rollbackReason = reason === undefined ? {} : { reason };
    const payload: EventPayload<'config:patched'> = { section, ...key, patchedBy: author, timestamp: store.now(), sha, ...rollbackReason };
    return { name: 'config:patched', payload };
  };
  const [section] = sections.size === 1 ? sections.keys() : [];
  return { layer, section, restores, reason, emit: (sha) => [...sections].map(([name, keys]) => event(sha, name, keys)) };
}

/** Publishes the head. A failure does not undo the version: this or another replica publishes it later. */
export async function publish({ publisher }: Pick<ConfigDeps, 'publisher'>, log: Pick<Ctx['log'], 'error'>): Promise<void> {
  try {
    await publisher.publish();
  } catch (err) {
    log.error({ err }, 'failed to publish a new configuration version; retrying');
  }
}

function describeCurrent(configuration: Pick<ConfigurationSource, 'written'>, stored: Tree): CurrentConfiguration {
  const written = configuration.written(stored);
  return { written, shown: redactConfig(written), stored };
}

/** Reports written settings that no service reads yet, for the answer of a write. */
function describeIneffective(layer: Tree, paths: readonly string[]): { notInForce?: string[] } {
  const names = new Set(paths);
  const unread = listUnusedSettings(layer).filter((path) => names.has(path));
  return unread.length === 0 ? {} : { notInForce: unread.toSorted().slice(0, MAX.many) };
}

interface DescribeWarningsOptions {
  before: Tree;
  after: Tree;
  paths: readonly string[];
}

function describeWarnings(
  configuration: Pick<ConfigurationSource, 'written'>,
  { before, after, paths }: DescribeWarningsOptions,
): { warnings?: string[] } {
  if (!paths.some((path) => path.split('.')[0] === 'webhooks')) return {};
  const warnings = describeNewCatchAlls(configuration.written(before), configuration.written(after));
  return warnings.length === 0 ? {} : { warnings };
}

/** The configuration is shared by all tenants. Only the tenant of the installation may read and write it. */
export function requireOperator({ principal }: Pick<Ctx, 'principal'>, configuration: Pick<ConfigurationSource, 'current'>): void {
  const { tenantId } = configuration.current;
  if (principal.tenant === tenantId) return;
  throw new ServiceError('PERMISSION_DENIED', 'The configuration can be read and changed only by tokens of the installation tenant.', {
    details: { reason: 'OTHER_TENANT' },
  });
}
