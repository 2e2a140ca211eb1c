import { MAX, SkillInstructions, type AgentTool, type TurnTools } from '@switchyard/contracts';

/** A list of tools that a used skill leaves to its turn: names, methods and `group:<name>`. */
export type SkillLimit = readonly string[];

/** Adds a limit, unless the list has it already: a model that uses a skill again changes nothing. */
export function addSkillLimit(limits: readonly SkillLimit[], limit: SkillLimit | undefined): readonly SkillLimit[] {
  if (limit === undefined) return limits;
  const key = JSON.stringify(limit);
  return limits.some((known) => JSON.stringify(known) === key) ? limits : [...limits, limit];
}

/** Returns the limit of a result of `tools.use`. Only results of skills have one. */
export function readSkillLimit({ group, name }: AgentTool, result: unknown): SkillLimit | undefined {
  if (group !== 'skills') return undefined;
  const parsed = SkillInstructions.safeParse(result);
  return parsed.success ? getSkillLimit(parsed.data, name) : undefined;
}

/**
 * Returns the limit of a skill. The tool of a skill with further files stays available, because the model reads these files with it; it
 * only returns texts of that skill.
 */
export function getSkillLimit({ allowedTools, files = [] }: SkillInstructions, toolName: string): SkillLimit | undefined {
  if (allowedTools === undefined || files.length === 0 || allowedTools.length >= MAX.few) return allowedTools;
  return [...new Set([...allowedTools, toolName])];
}

/** Adds limits to the tools of a turn. Each limit must contain the tool. */
export function limitTools(tools: TurnTools | undefined, limits: readonly SkillLimit[]): TurnTools | undefined {
  if (limits.length === 0) return tools;
  const within = limits.reduce(addSkillLimit, tools?.within ?? []);
  return { ...tools, within: within.map((limit) => [...limit]) };
}
