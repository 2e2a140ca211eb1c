import type { Agent } from '@switchyard/service-kit';
import { findMissing } from '../format/eligibility.ts';
import type { SkillDocument } from '../documents/collections.ts';

/** Returns the skills that the settings of the agent leave to it. */
export function selectSkills({ config }: Pick<Agent, 'config'>, skills: readonly SkillDocument[]): SkillDocument[] {
  return skills.filter((skill) => explainExclusion({ config }, skill) === undefined);
}

/** Returns why an agent does not have a skill; undefined if it has it. */
export function explainExclusion({ config }: Pick<Agent, 'config'>, { name, head }: SkillDocument): string | undefined {
  const { promptSkills, runtimeEligibility } = config.skills;
  const { allowedSkills, deniedSkills } = promptSkills;
  if (deniedSkills.includes(name)) return 'skills.promptSkills.deniedSkills of the agent excludes it';
  if (allowedSkills.length > 0 && !allowedSkills.includes(name)) return 'skills.promptSkills.allowedSkills of the agent excludes it';
  const missing = runtimeEligibility.enabled ? findMissing(head) : undefined;
  return missing === undefined ? undefined : `it requires ${missing}`;
}
