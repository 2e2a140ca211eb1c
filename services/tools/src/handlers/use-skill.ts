import { performance } from 'node:perf_hooks';
import type { Ctx, Handler } from '@switchyard/bus';
import { parseParams, ServiceError, type SkillInstructions } from '@switchyard/contracts';
import { parseSkillFile } from '../format/skill-file.ts';
import { renderInstructions } from '../format/render-instructions.ts';
import { getSkillName, SkillToolInput } from '../offers/skill-tools.ts';
import type { SkillDocument } from '../documents/collections.ts';
import { explainExclusion } from '../skills/agent-skills.ts';
import { missing } from '../skills/skill-library.ts';
import { SHARED_OWNER } from '../skills/skill-owner.ts';
import { getSkillText } from '../skills/skill-paths.ts';
import type { HandlerDeps } from './handler-deps.ts';

interface SkillUse {
  tenant: string;
  agentId: string;
  name: string;
  args: string;
  emit: Ctx['emit'];
}

/** Returns the instructions of a skill that a user invoked. */
export function skillsUse(deps: HandlerDeps): Handler<'skills.use'> {
  return async ({ agentId, name, arguments: args }, { principal: { tenant }, emit }) => {
    const skill = await getUsable(deps, { tenant, agentId, name });
    if (!skill.head.userInvocable) throw unusable(name, 'only models invoke it (userInvocable: false)');
    return useSkill(deps, skill, { tenant, agentId, name, args, emit });
  };
}

/** Executes the tool of a skill: returns its instructions, or the text of one of its files. */
export function toolsUse(deps: HandlerDeps): Handler<'tools.use'> {
  return async ({ name: tool, input }, { principal: { tenant, agent }, emit }) => {
    const name = getSkillName(tool);
    if (name === undefined || agent === undefined)
      throw new ServiceError('NOT_FOUND', `There is no tool ${tool}.`, { details: { reason: 'UNKNOWN_TOOL' } });
    const { arguments: args, file } = parseParams(SkillToolInput, input);
    const skill = await getUsable(deps, { tenant, agentId: agent, name });
    if (skill.head.disableModelInvocation) throw unusable(name, 'only users invoke it (disableModelInvocation: true)');
    if (file !== undefined) return { result: await readFile(deps, tenant, skill, file), failed: false };
    return { result: await useSkill(deps, skill, { tenant, agentId: agent, name, args, emit }), failed: false };
  };
}

/** Returns a skill that the agent has. Throws NOT_FOUND or FAILED_PRECONDITION. */
async function getUsable(
  { agents, library }: HandlerDeps,
  { tenant, agentId, name }: Omit<SkillUse, 'args' | 'emit'>,
): Promise<SkillDocument> {
  const agent = agents.find(tenant, agentId);
  const skill = (await library.find(tenant, agentId, name)) ?? (await library.find(tenant, SHARED_OWNER, name));
  if (!agent || !skill) throw missing(name);
  const reason = explainExclusion(agent, skill);
  if (reason !== undefined) throw unusable(name, reason);
  return skill;
}

function unusable(name: string, reason: string): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', `The skill ${name} cannot be used: ${reason}.`, {
    details: { reason: 'SKILL_NOT_USABLE' },
  });
}

async function useSkill(
  deps: HandlerDeps,
  skill: SkillDocument,
  { tenant, agentId, name, args, emit }: SkillUse,
): Promise<SkillInstructions> {
  const { agents, library, now } = deps;
  const since = performance.now();
  const { body } = parseSkillFile(getSkillText(await library.readFiles(tenant, skill)));
  const { maxBodyLength } = agents.find(tenant, agentId)?.config.skills.promptSkills ?? { maxBodyLength: Infinity };
  const instructions = renderInstructions(body, { args, maxChars: maxBodyLength });
  const { allowedTools } = skill.head;
  emit('skill:executed', { skillName: name, durationMs: performance.now() - since, success: true, timestamp: now() });
  return {
    skill: name,
    instructions,
    ...(allowedTools === undefined ? {} : { allowedTools }),
    ...(skill.files.length === 0 ? {} : { files: skill.files }),
  };
}

async function readFile(
  { library }: HandlerDeps,
  tenant: string,
  skill: SkillDocument,
  path: string,
): Promise<{ file: string; content: string }> {
  const found = (await library.readFiles(tenant, skill)).find((file) => file.path === path);
  if (found) return { file: path, content: found.content };
  const list = skill.files.length === 0 ? 'It has no further files.' : `Files: ${skill.files.join(', ')}`;
  throw new ServiceError('NOT_FOUND', `The skill ${skill.name} has no file ${path}. ${list}`);
}
