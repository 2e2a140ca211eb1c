import { CopyAs } from '../../parts/CopyAs.tsx';
import { Section } from '../../parts/Section.tsx';
import { useSearchText } from '../../parts/use-search.ts';
import { AddJob } from './AddJob.tsx';
import { Heartbeats } from './Heartbeats.tsx';
import { Job } from './Job.tsx';
import { Jobs } from './Jobs.tsx';

/** The scheduled jobs with their next and last runs, and the heartbeats of the agents. */
export function Schedule() {
  const [job] = useSearchText('job');
  const [agent] = useSearchText('agent');
  return (
    <>
      <Section title="Jobs" needs={['cron.list']}>
        <Jobs />
        <CopyAs method="cron.list" params={{}} />
      </Section>
      {job !== '' && <Job key={`${agent} ${job}`} name={job} agentId={agent === '' ? undefined : agent} />}
      <Section title="Add a job" needs={['cron.add']}>
        <AddJob />
      </Section>
      <Section title="Heartbeats" needs={['heartbeat.states']}>
        <Heartbeats />
      </Section>
    </>
  );
}
