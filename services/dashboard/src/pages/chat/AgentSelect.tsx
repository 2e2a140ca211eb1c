import { Loaded } from '../../parts/Loaded.tsx';
import { useCall } from '../../parts/use-call.ts';

interface AgentSelectProps {
  agentId: string;
  onSelect: (agentId: string) => void;
}

/** The agent of the conversation. Without the scope to list agents the default agent answers. */
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
