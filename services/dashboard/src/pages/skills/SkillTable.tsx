import type { CallResult } from '@switchyard/client';
import { Confirm } from '../../parts/Confirm.tsx';
import { DataTable } from '../../parts/DataTable.tsx';
import { useMay } from '../../session/presence.ts';
import { call } from '../../session/client.ts';
import { getOwner } from './skill-place.ts';

export type Skill = CallResult<'skills.list'>['skills'][number];

interface SkillTableProps {
  skills: readonly Skill[];
  agentId: string;
  onEdit: (name: string) => void;
  refresh: () => Promise<unknown>;
}

/** The skills of the agent. Without any it says what a skill is. */
export function SkillTable({ skills, agentId, onEdit, refresh }: SkillTableProps) {
  const mayUpdate = useMay('skills.update');
  if (skills.length === 0) {
    return (
      <p className="empty">
        A skill is a folder with instructions in SKILL.md, which the agent reads as a tool when a task needs them, or a user invokes with{' '}
        <code>/skill:name</code>. Create one below, or upload a folder with <code>switchyard skills upload</code>.
      </p>
    );
  }
  return (
    <DataTable
      label="skills"
      columns={['name', 'description', 'source', 'invocation', 'location']}
      rows={skills.map((skill) => ({ ...skill, source: describeSource(skill), invocation: describeInvocation(skill) }))}
      actions={({ name, shared }) => (
        <span className="tools">
          {mayUpdate && (
            <button type="button" onClick={() => onEdit(String(name))}>
              Edit
            </button>
          )}
          <DeleteSkill name={String(name)} owner={getOwner(agentId, { shared: shared === true })} refresh={refresh} />
        </span>
      )}
    />
  );
}

function describeInvocation({ disableModelInvocation, userInvocable }: Skill): string {
  if (disableModelInvocation) return userInvocable === false ? 'nobody' : 'users';
  return userInvocable === false ? 'models' : 'models, users';
}

function describeSource({ source, provenanceSummary = source, shared }: Skill): string {
  return shared ? `${provenanceSummary}, shared` : provenanceSummary;
}

interface DeleteSkillProps {
  name: string;
  owner: ReturnType<typeof getOwner>;
  refresh: () => Promise<unknown>;
}

function DeleteSkill({ name, owner, refresh }: DeleteSkillProps) {
  return (
    <Confirm
      label="Delete"
      name={name}
      needs="skills.delete"
      run={async () => {
        await call('skills.delete', { name, ...owner });
        await refresh();
      }}
    >
      <p>The skill is removed with all its files{owner.scope === 'shared' && ', from every agent'}.</p>
    </Confirm>
  );
}
