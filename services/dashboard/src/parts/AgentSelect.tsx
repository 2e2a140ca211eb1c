import { Loaded } from './Loaded.tsx';
import { useCall } from './use-call.ts';

interface AgentSelectProps {
  agentId: string;
  onSelect: (agentId: string) => void;
}

/** A choice of the agent. An empty id is the default agent. */
export function AgentSelect({ agentId, onSelect }: AgentSelectProps) {
  const agents = useCall('agents.list', {});
  return (
    <Loaded query={agents}>
      {({ agents: ids }) => (
        <label>
          Agent{' '}
          <select value={agentId} onChange={(event) => onSelect(event.target.value)}>
            <option value="">the default agent</option>
            {ids.map((id) => (
              <option key={id}>{id}</option>
            ))}
          </select>
        </label>
      )}
    </Loaded>
  );
}
