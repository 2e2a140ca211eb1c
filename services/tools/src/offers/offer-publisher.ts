import { bucketKey, bucketKeyParts, OFFERED_TOOLS_BUCKET, type OfferedTools } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import { syncBucketEntry, type Agent, type AgentDirectory } from '@switchyard/service-kit';
import { counter, type Logger } from '@switchyard/telemetry';
import { selectSkills } from '../skills/agent-skills.ts';
import type { SkillLibrary } from '../skills/skill-library.ts';
import { SHARED_OWNER } from '../skills/skill-owner.ts';
import { toSkillTool } from './skill-tools.ts';

/** Keeps the bucket `offered-tools`, which sessions watches, equal to the skills of the agents. */
export interface OfferPublisher {
  /** Publishes the tools of the agents that an owner's skills belong to. A failure is logged: the event of the write causes another attempt. */
  refresh(tenant: string, owner: string): Promise<void>;
  /** Publishes the tools of all agents, and removes those of deleted ones. */
  rebuild(): Promise<void>;
  /** Publishes, in the background, the tools of agents that were changed, created or deleted since the last time. */
  followAgents(): void;
}

export interface OfferPublisherDeps {
  bus: Bus;
  agents: AgentDirectory;
  library: SkillLibrary;
  log: Pick<Logger, 'warn'>;
}

export async function openOfferPublisher({ bus, agents, library, log }: OfferPublisherDeps): Promise<OfferPublisher> {
  const bucket = await bus.kv(OFFERED_TOOLS_BUCKET);
  /** The agents as they were when their tools were published. The directory keeps an object until its agent changes. */
  const published = new Map<string, Agent>();
  let following: Promise<void> | undefined;
  let changedMeanwhile = false;

  async function sync(key: string): Promise<void> {
    const owner = bucketKeyParts(key);
    const agent = owner && agents.find(owner.tenant, owner.id);
    const hasWritten = await syncBucketEntry(bucket, key, async () => (agent === undefined ? undefined : readOffer(library, agent)));
    if (hasWritten) counter('switchyard.skill.offers', { outcome: 'published' }).add(1);
    if (agent) published.set(key, agent);
    else published.delete(key);
  }

  function logFailure(err: unknown): void {
    counter('switchyard.skill.offers', { outcome: 'failed' }).add(1);
    log.warn(
      { err, errorKind: 'dependency', hint: 'agents see earlier skills until the next change' },
      'failed to publish the tools of skills',
    );
  }

  function listKeys(): Map<string, Agent> {
    return new Map([...agents.listAllTenants()].map((agent) => [bucketKey(agent.tenant, agent.agentId), agent]));
  }

  async function syncChanged(): Promise<void> {
    do {
      changedMeanwhile = false;
      const current = listKeys();
      const keys = new Set([...current.keys(), ...published.keys()]);
      for (const key of keys) if (published.get(key) !== current.get(key)) await sync(key).catch(logFailure);
    } while (changedMeanwhile);
    following = undefined;
  }

  return {
    async rebuild() {
      for (const key of new Set([...listKeys().keys(), ...(await bucket.keys())])) await sync(key);
    },
    followAgents() {
      changedMeanwhile = true;
      following ??= syncChanged();
    },
    async refresh(tenant, owner) {
      const ids = owner === SHARED_OWNER ? agents.all(tenant).map(({ agentId }) => agentId) : [owner];
      for (const agentId of ids) await sync(bucketKey(tenant, agentId)).catch(logFailure);
    },
  };
}

async function readOffer(library: SkillLibrary, agent: Agent): Promise<OfferedTools | undefined> {
  const { tenant, agentId } = agent;
  const tools = await listTools(library, agent);
  return tools.length === 0 ? undefined : { tenant, agentId, tools };
}

async function listTools(library: SkillLibrary, agent: Agent): Promise<OfferedTools['tools']> {
  const skills = selectSkills(agent, await library.list(agent.tenant, agent.agentId));
  return skills.filter(({ head }) => !head.disableModelInvocation).map(toSkillTool);
}
