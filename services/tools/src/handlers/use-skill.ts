import { performance } from 'node:perf_hooks';
import type { Ctx, Handler } from '@switchyard/bus';
import { parseParams, ServiceError, type SkillInstructions } from '@switchyard/contracts';
import { counter } from '@switchyard/telemetry';
import { renderInstructions } from '../format/render-instructions.ts';
import { getSkillName, SkillToolInput } from '../offers/skill-tools.ts';
import type { SkillDocument } from '../documents/collections.ts';
import { explainExclusion } from '../skills/agent-skills.ts';
import { missing } from '../skills/skill-library.ts';
import { SHARED_OWNER } from '../skills/skill-owner.ts';
import { getSkillText } from '../skills/skill-paths.ts';
import type { HandlerDeps } from './handler-deps.ts';

/** An invocation of a skill for an agent. */
interface SkillUse {
  caller: 'model' | 'user';
  tenant: string;
  agentId: string;
  name: string;
}

/** Returns the instructions of a skill that a user invoked. */
export function skillsUse(deps: HandlerDeps): Handler<'skills.use'> {
  return async ({ agentId, name, arguments: args }, ctx) =>
    countUse('user', async () => {
      const { tenant } = ctx.principal;
      const skill = await getUsable(deps, { caller: 'user', tenant, agentId, name });
      return readInstructions(deps, ctx, skill, { agentId, args });
    });
}

/** Executes the tool of a skill: returns its instructions, or the text of one of its files. */
export function toolsUse(deps: HandlerDeps): Handler<'tools.use'> {
  return async ({ name: tool, input }, ctx) => {
    const { tenant, agent } = ctx.principal;
    const name = getSkillName(tool);
    if (name === undefined || agent === undefined)
      throw new ServiceError('NOT_FOUND', `Unknown tool ${tool}.`, { details: { reason: 'UNKNOWN_TOOL' } });
    const { arguments: args, file } = parseParams(SkillToolInput, input);
    return countUse('model', async () => {
      const skill = await getUsable(deps, { caller: 'model', tenant, agentId: agent, name });
      if (file !== undefined) return { result: await readFile(deps, tenant, skill, file), failed: false };
      return { result: await readInstructions(deps, ctx, skill, { agentId: agent, args }), failed: false };
    });
  };
}

async function countUse<T>(caller: SkillUse['caller'], use: () => Promise<T>): Promise<T> {
  let outcome = 'used';
  try {
    return await use();
  } catch (error) {
    outcome = error instanceof ServiceError ? error.code : 'INTERNAL';
    throw error;
  } finally {
    counter('switchyard.skill.uses', { caller, outcome }).add(1);
  }
}

/** Returns a skill that the agent has and that the caller may invoke. Throws NOT_FOUND or FAILED_PRECONDITION. */
async function getUsable({ agents, library }: HandlerDeps, { caller, tenant, agentId, name }: SkillUse): Promise<SkillDocument> {
  const agent = agents.find(tenant, agentId);
  const skill = (await library.find(tenant, agentId, name)) ?? (await library.find(tenant, SHARED_OWNER, name));
  if (!agent || !skill) throw missing(name);
  const reason = explainExclusion(agent, skill) ?? explainCaller(skill, caller);
  if (reason === undefined) return skill;
  throw new ServiceError('FAILED_PRECONDITION', `The skill ${name} cannot be used: ${reason}.`, {
    details: { reason: 'SKILL_NOT_USABLE' },
  });
}

function explainCaller({ head }: SkillDocument, caller: SkillUse['caller']): string | undefined {
  if (caller === 'user') return head.userInvocable ? undefined : 'only models invoke it (userInvocable: false)';
  return head.disableModelInvocation ? 'only users invoke it (disableModelInvocation: true)' : undefined;
}

interface ReadOptions {
  agentId: string;
  args: string;
}

async function readInstructions(
  { agents, library, now }: HandlerDeps,
  ctx: Pick<Ctx, 'principal' | 'emit'>,
  skill: SkillDocument,
  { agentId, args }: ReadOptions,
): Promise<SkillInstructions> {
  const { tenant } = ctx.principal;
  const since = performance.now();
  // Loads the YAML library on its first use.
  const { parseSkillFile } = await import('../format/skill-file.ts');
  const { body } = parseSkillFile(getSkillText(await library.readFiles(tenant, skill)));
  const { maxBodyLength } = agents.find(tenant, agentId)?.config.skills.promptSkills ?? { maxBodyLength: Infinity };
  const instructions = renderInstructions(body, { args, maxChars: maxBodyLength });
  const { name, files, head } = skill;
  ctx.emit('skill:executed', { skillName: name, durationMs: performance.now() - since, success: true, timestamp: now() });
  return {
    skill: name,
    instructions,
    ...(head.allowedTools === undefined ? {} : { allowedTools: head.allowedTools }),
    ...(files.length === 0 ? {} : { files }),
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
  const list = skill.files.length === 0 ? 'SKILL.md is its only file.' : `Files: ${skill.files.join(', ')}`;
  throw new ServiceError('NOT_FOUND', `The skill ${skill.name} has no file ${path}. ${list}`);
}
