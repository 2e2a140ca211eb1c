import type { Ctx } from '@switchyard/bus';
import { MAX, listUnusedSettings, ServiceError, type EventPayload } from '@switchyard/contracts';
import type { ConfigurationSource, Tree } from '@switchyard/service-kit';
import type { OutboxEvent, Store } from '@switchyard/store';
import { shownConfig } from './redact-config.ts';
import { changedPaths } from './config-changes.ts';
import { checkWrite, type Proposed } from './check-write.ts';
import type { Version } from './version-storage.ts';
import type { Publisher } from './head-publisher.ts';
import { renderDiff } from './render-diff.ts';
import type { Decision, Versions } from './version-chain.ts';
import type { Present } from './stored-layer.ts';

/** How many versions are kept without anybody asking; looked at once in so many writes. */
const MOST_VERSIONS = 1_000;
const FOLDED_EVERY = 100;

/** The configuration before and after a write. */
export interface ProposedConfiguration {
  before: Tree;
  after: Tree;
  agents: Readonly<Record<string, Tree>>;
}

export interface ConfigGiven {
  versions: Versions;
  publisher: Publisher;
  configuration: ConfigurationSource;
  store: Pick<Store, 'now'>;
  /** What speaks against the agents that a write changes. */
  checkAgents: (proposed: ProposedConfiguration) => Promise<ServiceError[]>;
}

/** What every write may say of itself. */
export interface WriteOptions {
  baseSha?: string | undefined;
  message?: string | undefined;
  dryRun?: boolean | undefined;
}

/** What a write makes of the configuration as it is. */
export interface Plan {
  layer: Tree;
  /** Dotted paths that the caller names. */
  named: readonly string[];
  restores?: string;
}

export interface ConfigWrite {
  ctx: Pick<Ctx, 'principal' | 'signal' | 'log'>;
  options: WriteOptions;
  /** For the history, where the caller says nothing. */
  title: string;
  plan: (present: Present) => Plan | Promise<Plan>;
}

/** A version that counts, and what is known of it. */
export interface Written {
  version: Version;
  before: Tree;
  notInForce?: string[];
}

/** Makes one version of a write and tells every service of it. Whoever is overtaken plans anew on what there is then. */
export async function writeConfig(given: ConfigGiven, { ctx, options, title, plan }: ConfigWrite): Promise<Written> {
  const { versions, configuration } = given;
  const { client, agent, tenant } = ctx.principal;
  const message = (options.message ?? title).slice(0, MAX.line);
  let before: Tree = {};
  let paths: readonly string[] = [];
  const version = await versions.commit({ author: client, agent, message, baseSha: options.baseSha, signal: ctx.signal }, async (head) => {
    const { layer, named, restores } = await plan(present(configuration, head.layer));
    const [refused] = await checkWhole(given, { before: head.layer, after: layer, named });
    if (refused) throw refused;
    before = head.layer;
    paths = [...new Set([...named, ...changedPaths(head.layer, layer)])];
    return decision(given, { layer, paths, by: client, ...(restores === undefined ? {} : { restores }) });
  });
  ctx.log.audit({ client, tenant, sha: version.sha, keys: paths.slice(0, MAX.few) }, 'the configuration was changed');
  await tell(given, ctx.log);
  if (version.number % FOLDED_EVERY === 0)
    versions.fold(MOST_VERSIONS).catch((err: unknown) => ctx.log.warn({ err }, 'old versions of the configuration stay for now'));
  return { version, before, ...withoutEffect(version.layer, paths) };
}

/** The same without writing: what speaks against it, and what would change. */
export async function checkConfig(given: ConfigGiven, { options, plan }: Pick<ConfigWrite, 'options' | 'plan'>) {
  const { versions, configuration } = given;
  const head = await versions.head();
  if (options.baseSha !== undefined) await versions.requireHead(options.baseSha);
  const { layer, named } = await plan(present(configuration, head.layer));
  const errors = (await checkWhole(given, { before: head.layer, after: layer, named })).map(({ message }) => message.slice(0, MAX.line));
  const paths = changedPaths(head.layer, layer);
  const valid = errors.length === 0;
  const outcome = valid ? { diff: await renderDiff(head.layer, layer), ...withoutEffect(layer, paths) } : {};
  return { dryRun: true as const, valid, errors: errors.slice(0, MAX.many), ...outcome };
}

/** What a model or a secret says of it is asked only where the rest is right. */
async function checkWhole({ configuration, checkAgents }: ConfigGiven, proposed: Proposed): Promise<ServiceError[]> {
  const refused = checkWrite(configuration, proposed);
  if (refused.length > 0) return refused;
  const { before, after } = proposed;
  return checkAgents({ before, after, agents: configuration.preview(after).agents });
}

interface Decided {
  layer: Tree;
  paths: readonly string[];
  by: string;
  restores?: string;
  reason?: string;
}

/** A version, and an event for each section that it is about. */
export function decision({ store }: Pick<ConfigGiven, 'store'>, { layer, paths, by, restores, reason }: Decided): Decision {
  const sections = Map.groupBy(paths, (path) => path.split('.')[0] ?? path);
  const event = (sha: string, section: string, keys: readonly string[]): OutboxEvent => {
    const [only = section] = keys;
    const key = keys.length === 1 && only !== section ? { key: only.slice(section.length + 1).slice(0, MAX.line) } : {};
    const why = reason === undefined ? {} : { reason };
    const payload: EventPayload<'config:patched'> = { section, ...key, patchedBy: by, timestamp: store.now(), sha, ...why };
    return { name: 'config:patched', payload };
  };
  const [section] = sections.size === 1 ? sections.keys() : [];
  return { layer, section, restores, reason, emit: (sha) => [...sections].map(([name, keys]) => event(sha, name, keys)) };
}

/** A version counts whether or not this works: whoever looks next tells it, this replica or another, now or at its start. */
export async function tell({ publisher }: Pick<ConfigGiven, 'publisher'>, log: Pick<Ctx['log'], 'error'>): Promise<void> {
  try {
    await publisher.publish();
  } catch (err) {
    log.error({ err }, 'a version of the configuration was written, and the services are not told yet');
  }
}

function present(configuration: Pick<ConfigurationSource, 'written'>, stored: Tree): Present {
  const written = configuration.written(stored);
  return { written, shown: shownConfig(written), stored };
}

/** What the answer of a write adds when some of what it wrote has no effect yet. */
function withoutEffect(layer: Tree, paths: readonly string[]): { notInForce?: string[] } {
  const names = new Set(paths);
  const unread = listUnusedSettings(layer).filter((path) => names.has(path));
  return unread.length === 0 ? {} : { notInForce: unread.toSorted().slice(0, MAX.many) };
}

/** The configuration is everybody's, so that only those of the tenant that the installation belongs to look at it and change it. */
export function requireOperator({ principal }: Pick<Ctx, 'principal'>, configuration: Pick<ConfigurationSource, 'current'>): void {
  const { tenantId } = configuration.current;
  if (principal.tenant === tenantId) return;
  throw new ServiceError('PERMISSION_DENIED', 'the configuration belongs to the tenant of the installation, which this token is not of', {
    details: { reason: 'OTHER_TENANT' },
  });
}
