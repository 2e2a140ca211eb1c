import { CopyAs } from '../../parts/CopyAs.tsx';
import { Loaded } from '../../parts/Loaded.tsx';
import { Section } from '../../parts/Section.tsx';
import { useCall } from '../../parts/use-call.ts';
import { useSearchText } from '../../parts/use-search.ts';
import { Agent } from './Agent.tsx';
import { CreateAgent } from './CreateAgent.tsx';

/** The agents, and the state and configuration of the selected one. */
export function Agents() {
  const agents = useCall('agents.list', {}, ['agent:hot_added', 'agent:hot_removed']);
  const [selected, select] = useSearchText('agent');
  return (
    <>
      <Loaded query={agents}>
        {({ agents: ids }) => (
          <ul className="chips" aria-label="Agents">
            {ids.map((id) => (
              <li key={id}>
                <button type="button" aria-pressed={id === selected} onClick={() => select(id)}>
                  <bdi>{id}</bdi>
                </button>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
      <CopyAs method="agents.list" params={{}} />
      {selected !== '' && <Agent key={selected} agentId={selected} onDeleted={() => select('')} />}
      <Section title="Create an agent" needs={['agents.create']}>
        <CreateAgent onCreated={select} />
      </Section>
    </>
  );
}
