import { AgentSelect } from '../../parts/AgentSelect.tsx';
import { CopyAs } from '../../parts/CopyAs.tsx';
import { Loaded } from '../../parts/Loaded.tsx';
import { Section } from '../../parts/Section.tsx';
import { useCall } from '../../parts/use-call.ts';
import { useSearchChange, useSearchText } from '../../parts/use-search.ts';
import { useMay } from '../../session/presence.ts';
import { CreateSkill } from './CreateSkill.tsx';
import { EditSkill } from './EditSkill.tsx';
import { ImportSkill } from './ImportSkill.tsx';
import { SkillTable } from './SkillTable.tsx';
import { UploadSkill } from './UploadSkill.tsx';

/** The skills of an agent, and forms that create, replace, upload and import them. */
export function Skills() {
  const mayListAgents = useMay('agents.list');
  const [agentId] = useSearchText('agent');
  const [selected] = useSearchText('skill');
  const changeSearch = useSearchChange();
  const params = agentId === '' ? {} : { agentId };
  const skills = useCall('skills.list', params, ['skill:loaded', 'skill:rejected', 'skill:registry_reset']);
  const edited = skills.data?.skills.find(({ name }) => name === selected);
  return (
    <>
      {mayListAgents && <AgentSelect agentId={agentId} onSelect={(next) => changeSearch({ agent: next, skill: '' })} />}
      <Loaded query={skills}>
        {({ skills: rows }) => (
          <SkillTable skills={rows} agentId={agentId} onEdit={(name) => changeSearch({ skill: name })} refresh={() => skills.refetch()} />
        )}
      </Loaded>
      <CopyAs method="skills.list" params={params} />
      {edited && <EditSkill key={`${agentId} ${selected}`} skill={edited} agentId={agentId} onClose={() => changeSearch({ skill: '' })} />}
      <Section title="Create a skill" needs={['skills.create']}>
        <CreateSkill key={agentId} agentId={agentId} />
      </Section>
      <Section title="Upload a folder" needs={['skills.upload']}>
        <UploadSkill key={agentId} agentId={agentId} />
      </Section>
      <Section title="Import from an address" needs={['skills.import']}>
        <ImportSkill key={agentId} agentId={agentId} />
      </Section>
    </>
  );
}
