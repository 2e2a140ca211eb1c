import { useQueryClient } from '@tanstack/react-query';
import { ConfigEditor } from '../../editor/ConfigEditor.tsx';
import { Action } from '../../parts/Action.tsx';
import { Confirm } from '../../parts/Confirm.tsx';
import { CopyAs } from '../../parts/CopyAs.tsx';
import { Loaded } from '../../parts/Loaded.tsx';
import { Section } from '../../parts/Section.tsx';
import { useCall } from '../../parts/use-call.ts';
import { call } from '../../session/client.ts';

/** One agent: whether it accepts messages, and its configuration. */
export function Agent({ agentId, onDeleted }: { agentId: string; onDeleted: () => void }) {
  const agent = useCall('agents.get', { agentId }, ['config:patched']);
  const cache = useQueryClient();
  const refresh = () => cache.invalidateQueries({ predicate: ({ queryKey }) => String(queryKey[0]).startsWith('agents.') });
  return (
    <Section title={`Agent ${agentId}`} needs={['agents.get']}>
      <Loaded query={agent}>
        {({ suspended, isDefault }) => (
          <>
            <p>
              {suspended ? 'Suspended: new messages are rejected' : 'Active'}
              {isDefault && ', the default agent'}
            </p>
            <p className="tools">
              {suspended ? (
                <Action label="Resume" needs="agents.resume" run={() => call('agents.resume', { agentId }).then(refresh)} />
              ) : (
                <Action label="Suspend" needs="agents.suspend" run={() => call('agents.suspend', { agentId }).then(refresh)} />
              )}
              {!isDefault && (
                <Confirm
                  label="Delete agent"
                  name={agentId}
                  needs="agents.delete"
                  run={async () => {
                    await call('agents.delete', { agentId });
                    await refresh();
                    onDeleted();
                  }}
                >
                  <p>The agent is removed. Its sessions are kept, and new turns in them fail.</p>
                </Confirm>
              )}
            </p>
          </>
        )}
      </Loaded>
      <CopyAs method="agents.get" params={{ agentId }} />
      <Section title="Configuration" needs={['config.patch']}>
        <ConfigEditor path={['agents', agentId]} />
      </Section>
    </Section>
  );
}
