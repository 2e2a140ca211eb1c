import { useQueryClient } from '@tanstack/react-query';
import { Action } from '../parts/Action.tsx';
import { Loaded } from '../parts/Loaded.tsx';
import { useCall } from '../parts/use-call.ts';
import { useSearchText } from '../parts/use-search.ts';
import { call } from '../session/client.ts';

/** The agents and the configuration in force of the selected one. */
export function Agents() {
  const agents = useCall('agents.list', {}, ['agent:hot_added', 'agent:hot_removed']);
  const [selected, select] = useSearchText('agent');
  return (
    <>
      <Loaded query={agents}>
        {({ agents: ids }) => (
          <ul className="chips">
            {ids.map((id) => (
              <li key={id}>
                <button type="button" aria-pressed={id === selected} onClick={() => select(id)}>
                  {id}
                </button>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
      {selected !== '' && <Agent agentId={selected} />}
    </>
  );
}

function Agent({ agentId }: { agentId: string }) {
  const agent = useCall('agents.get', { agentId }, ['config:patched']);
  const cache = useQueryClient();
  const change = async (method: 'agents.suspend' | 'agents.resume'): Promise<void> => {
    await call(method, { agentId });
    await cache.invalidateQueries({ queryKey: ['agents.get'] });
  };
  return (
    <Loaded query={agent}>
      {({ config, suspended, isDefault }) => (
        <section aria-label={`Agent ${agentId}`}>
          <h2>{agentId}</h2>
          <p>
            {suspended ? 'Suspended' : 'Active'}
            {isDefault && ', the default agent'}
          </p>
          <p className="tools">
            {suspended ? (
              <Action label="Resume" run={() => change('agents.resume')} />
            ) : (
              <Action label="Suspend" run={() => change('agents.suspend')} />
            )}
          </p>
          <pre tabIndex={0}>{JSON.stringify(config, undefined, 2)}</pre>
        </section>
      )}
    </Loaded>
  );
}
