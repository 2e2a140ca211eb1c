import type { CallResult } from '@switchyard/client';
import type { CommandContext } from '../../arguments/command-group.ts';
import { getText } from '../../arguments/flags.ts';
import { print, printAs, remark, table } from '../../output/output.ts';
import { self } from '../../server/installation.ts';

type Skill = CallResult<'skills.list'>['skills'][number];

export async function listSkills({ call, flags, output }: CommandContext): Promise<void> {
  const answer = await call('skills.list', getText(flags, 'agent', 'agentId'));
  if (output !== 'table') return printAs(output, answer);
  if (answer.skills.length === 0) return remark(`No skills. Add one: ${self()} skills upload --help`);
  const lines = answer.skills.map((skill) => [
    skill.name,
    skill.shared ? `${skill.source}, shared` : skill.source,
    describeInvocation(skill),
    skill.description,
  ]);
  print(table(['NAME', 'SOURCE', 'INVOKED BY', 'DESCRIPTION'], lines));
}

function describeInvocation({ disableModelInvocation, userInvocable }: Skill): string {
  if (disableModelInvocation) return userInvocable === false ? 'nobody' : 'users';
  return userInvocable === false ? 'models' : 'models, users';
}
