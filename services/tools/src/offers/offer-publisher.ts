import { isDeepStrictEqual } from 'node:util';
import { bucketKey, bucketKeyParts, OFFERED_TOOLS_BUCKET, OfferedTools } from '@switchyard/contracts';
import type { Bucket, BucketEntry, Bus } from '@switchyard/bus';
import type { Agent, AgentDirectory } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';
import { selectSkills } from '../skills/agent-skills.ts';
import type { SkillLibrary } from '../skills/skill-library.ts';
import { toSkillTool } from './skill-tools.ts';

/** Keeps the bucket `offered-tools`, which sessions watches, equal to the skills of the agents. */
export interface OfferPublisher {
  /** Publishes the tools of the agents of a tenant. A failure is logged: the event of the write causes another attempt. */
  refresh(tenant: string): Promise<void>;
  /** Publishes the tools of all agents, and removes those of deleted ones. */
  rebuild(): Promise<void>;
  /** Rebuilds in the background. Requests during a rebuild cause one further rebuild. */
  requestRebuild(): void;
}

export interface OfferPublisherDeps {
  bus: Bus;
  agents: AgentDirectory;
  library: SkillLibrary;
  log: Pick<Logger, 'warn'>;
}

export async function openOfferPublisher({ bus, agents, library, log }: OfferPublisherDeps): Promise<OfferPublisher> {
  const bucket = await bus.kv(OFFERED_TOOLS_BUCKET);

  async function readOffer(tenant: string, agentId: string): Promise<OfferedTools | undefined> {
    const agent = agents.find(tenant, agentId);
    if (!agent) return undefined;
    const tools = await listTools(library, agent);
    return tools.length === 0 ? undefined : { tenant, agentId, tools };
  }

  function logFailure(err: unknown): void {
    log.warn(
      { err, errorKind: 'dependency', hint: 'agents see earlier skills until the next change' },
      'failed to publish the tools of skills',
    );
  }

  async function rebuild(): Promise<void> {
    const keys = new Set([...agents.listAllTenants()].map(({ tenant, agentId }) => bucketKey(tenant, agentId)));
    for (const key of keys.union(new Set(await bucket.keys()))) {
      const owner = bucketKeyParts(key);
      await syncEntry(bucket, key, async () => (owner === undefined ? undefined : readOffer(owner.tenant, owner.id)));
    }
  }

  let requests = 0;
  async function rebuildRequested(): Promise<void> {
    for (let seen = 0; seen !== requests;) {
      seen = requests;
      await rebuild().catch(logFailure);
    }
    requests = 0;
  }

  return {
    rebuild,
    requestRebuild() {
      requests += 1;
      if (requests === 1) void rebuildRequested();
    },
    async refresh(tenant) {
      const ids = agents.all(tenant).map(({ agentId }) => agentId);
      for (const agentId of ids) await syncEntry(bucket, bucketKey(tenant, agentId), () => readOffer(tenant, agentId)).catch(logFailure);
    },
  };
}

async function listTools(library: SkillLibrary, agent: Agent): Promise<OfferedTools['tools']> {
  const skills = selectSkills(agent, await library.list(agent.tenant, agent.agentId));
  return skills.filter(({ head }) => !head.disableModelInvocation).map(toSkillTool);
}

/** Reads the entry, then the skills, then writes over exactly that entry. If two replicas compete, the later read wins. */
async function syncEntry(bucket: Bucket, key: string, readOffer: () => Promise<OfferedTools | undefined>): Promise<void> {
  for (;;) {
    const entry = await bucket.get(key);
    const offer = await readOffer();
    if (isDeepStrictEqual(parseEntry(entry), offer)) return;
    // Removals and first writes have no revision check, so the loop verifies the result.
    if (offer === undefined) await bucket.remove(key);
    else await bucket.update(key, Buffer.from(JSON.stringify(offer)), entry?.revision ?? 0);
  }
}

/** Null for an unreadable entry, which is then overwritten. */
function parseEntry(entry: BucketEntry | undefined): OfferedTools | null | undefined {
  if (entry?.value === undefined) return undefined;
  try {
    return OfferedTools.parse(JSON.parse(Buffer.from(entry.value).toString()));
  } catch {
    return null;
  }
}
