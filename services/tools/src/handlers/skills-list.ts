import type { Handler } from '@switchyard/bus';
import { selectSkills } from '../skills/agent-skills.ts';
import { resolveAgent, SHARED_OWNER } from '../skills/skill-owner.ts';
import type { HandlerDeps } from './handler-deps.ts';

/** Lists the skills of an agent that its settings leave to it. */
export function skillsList({ agents, library }: HandlerDeps): Handler<'skills.list'> {
  return async ({ agentId: requested }, { principal }) => {
    const { tenant } = principal;
    const agentId = resolveAgent(agents, principal, requested);
    const agent = agents.find(tenant, agentId);
    const skills = agent ? selectSkills(agent, await library.list(tenant, agentId)) : [];
    return {
      skills: skills.map(({ name, owner, head, source, url }) => ({
        name,
        description: head.description,
        location: `skills/${name}`,
        source,
        ...(head.disableModelInvocation ? { disableModelInvocation: true } : {}),
        ...(head.userInvocable ? {} : { userInvocable: false }),
        ...(owner === SHARED_OWNER ? { shared: true } : {}),
        ...(url === undefined ? {} : { provenanceSummary: `imported from ${url}` }),
      })),
    };
  };
}
