import { AgentConfig, AgentId, type Sections } from '@switchyard/contracts';
import { merge, only, resolveReferences, type ConfigurationSource, type Variables, type Tree } from '@switchyard/service-kit';
import type { Collection } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { AgentDocument } from '../documents/collections.ts';

/** The effective agent: files, overlaid by the stored layer, overlaid by the environment. */
export interface Agent {
  agentId: string;
  tenant: string;
  /** With references resolved. */
  config: Sections['agents'][string];
  /** With `${NAME}` references as written, for display and for projection. */
  written: Sections['agents'][string];
  suspended: boolean;
  isDefault: boolean;
  stored: AgentDocument | undefined;
}

/** The number of writes to an agent; 0 for an agent that only a file declares. */
export const getVersion = ({ stored }: Pick<Agent, 'stored'>): number => stored?.version ?? 0;

/** The agents of each tenant. Agents from files belong to the tenant `tenantId`. Every tenant has a default agent. */
export interface Agents {
  /** Undefined for unknown and for deleted agents. */
  find(tenant: string, agentId: string): Promise<Agent | undefined>;
  /** Sorted by id. */
  list(tenant: string): Promise<Agent[]>;
  /** The agents of the tenant `tenantId` and of every tenant with a token or a stored agent. */
  all(): Promise<Agent[]>;
  /** The agent with this stored layer. A tree, because it may be invalid. */
  preview(tenant: string, agentId: string, patch: Tree): Tree;
  isDefault(agentId: string): boolean;
  defaultId(): string;
}

export interface AgentsDeps {
  collection: Collection<AgentDocument>;
  configuration: Pick<ConfigurationSource, 'current' | 'pinned'>;
  /** Tenants that have a token. */
  tenants: ReadonlySet<string>;
  log: Pick<Logger, 'error'>;
  env: Variables;
}

const PAGE = 500;

export function createAgents({ collection, configuration, tenants: tenantsWithToken, log, env }: AgentsDeps): Agents {
  function defaultId(): string {
    const { defaultAgentId } = configuration.current.routing;
    return AgentId.safeParse(defaultAgentId).success ? defaultAgentId : 'default';
  }

  function getDeclared(tenant: string, agentId: string): Tree | undefined {
    const { agents, tenantId } = configuration.current;
    return tenant === tenantId && Object.hasOwn(agents, agentId) ? agents[agentId] : undefined;
  }

  function preview(tenant: string, agentId: string, patch: Tree): Tree {
    const declared = getDeclared(tenant, agentId) ?? {};
    const pinned = tenant === configuration.current.tenantId ? pinnedPaths(configuration, agentId) : [];
    if (pinned.some((path) => path.length === 0)) return declared;
    return merge(merge(declared, patch), only(declared, pinned));
  }

  function resolveAgent(tenant: string, agentId: string, stored: AgentDocument | undefined): Agent {
    const parsed = AgentConfig.safeParse(preview(tenant, agentId, stored?.patch ?? {}));
    if (!parsed.success) log.error({ agentId, tenant }, 'the stored configuration of an agent is invalid and is ignored');
    const written = parsed.data ?? AgentConfig.parse(getDeclared(tenant, agentId) ?? {});
    const config = AgentConfig.safeParse(resolveReferences(written, env)).data ?? written;
    return { agentId, tenant, config, written, suspended: stored?.suspended ?? false, isDefault: agentId === defaultId(), stored };
  }

  function exists(tenant: string, agentId: string, stored: AgentDocument | undefined): boolean {
    if (agentId === defaultId()) return true;
    return stored === undefined ? getDeclared(tenant, agentId) !== undefined : stored.deletedAt === null;
  }

  function listTenant(tenant: string, documents: readonly AgentDocument[]): Agent[] {
    const stored = new Map(documents.map((document) => [document.agentId, document]));
    const { agents, tenantId } = configuration.current;
    const ids = new Set([defaultId(), ...(tenant === tenantId ? Object.keys(agents) : []), ...stored.keys()]);
    return [...ids]
      .filter((agentId) => exists(tenant, agentId, stored.get(agentId)))
      .sort()
      .map((agentId) => resolveAgent(tenant, agentId, stored.get(agentId)));
  }

  return {
    preview,
    defaultId,
    isDefault: (agentId) => agentId === defaultId(),
    async find(tenant, agentId) {
      const stored = (await collection.for({ tenant }).get(agentId)) ?? undefined;
      return exists(tenant, agentId, stored) ? resolveAgent(tenant, agentId, stored) : undefined;
    },
    async list(tenant) {
      const documents = collection.for({ tenant });
      return listTenant(tenant, await readAllPages((cursor) => documents.find({}, { limit: PAGE, ...cursor })));
    },
    async all() {
      const system = collection.system();
      const documents = await readAllPages((cursor) => system.find({}, { limit: PAGE, ...cursor }));
      const tenants = Map.groupBy(documents, ({ tenant }) => tenant);
      for (const tenant of [configuration.current.tenantId, ...tenantsWithToken]) if (!tenants.has(tenant)) tenants.set(tenant, []);
      return [...tenants].flatMap(([tenant, tenantDocuments]) => listTenant(tenant, tenantDocuments));
    },
  };
}

/** Paths within an agent that the environment sets. The empty path means the whole agent. */
function pinnedPaths(configuration: Pick<ConfigurationSource, 'pinned'>, agentId: string): string[][] {
  const own = ['agents', agentId];
  return configuration
    .pinned()
    .map(({ path }) => path.split('.'))
    .filter((path) => path[0] === 'agents' && (path.length < 2 || path[1] === agentId))
    .map((path) => path.slice(own.length));
}

async function readAllPages<D>(page: (cursor: { cursor?: string }) => Promise<{ items: D[]; cursor?: string }>): Promise<D[]> {
  const all: D[] = [];
  for (let next: { cursor?: string } | undefined = {}; next !== undefined;) {
    const { items, cursor } = await page(next);
    all.push(...items);
    next = cursor === undefined ? undefined : { cursor };
  }
  return all;
}
