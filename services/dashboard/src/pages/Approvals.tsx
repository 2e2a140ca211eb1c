import { useQueryClient } from '@tanstack/react-query';
import { Action } from '../parts/Action.tsx';
import { formatTime } from '../parts/format.ts';
import { Loaded } from '../parts/Loaded.tsx';
import { useCall } from '../parts/use-call.ts';
import { call } from '../session/client.ts';

/** Tool calls of all sessions that wait for a decision. */
export function Approvals() {
  const pending = useCall('admin.approval.pending', {}, ['approval:requested', 'approval:resolved']);
  const cache = useQueryClient();
  const decide = async (id: string, approved: boolean): Promise<void> => {
    await call('admin.approval.resolve', { id, approved });
    await cache.invalidateQueries({ queryKey: ['admin.approval.pending'] });
  };
  return (
    <Loaded query={pending}>
      {({ requests }) =>
        requests.length === 0 ? (
          <p className="empty">Nothing waits for approval.</p>
        ) : (
          requests.map(({ requestId, toolName, action, params, agentId, sessionKey, createdAt, timeoutMs }) => (
            <article key={requestId} className="card">
              <h2>{action}</h2>
              <p>
                Tool {toolName} of agent {agentId} in <bdi>{sessionKey}</bdi>, since {formatTime(createdAt)}, until{' '}
                {formatTime(createdAt + timeoutMs)}
              </p>
              <pre>{JSON.stringify(params, undefined, 2)}</pre>
              <p className="tools">
                <Action label="Approve once" run={() => decide(requestId, true)} />
                <Action label="Reject" run={() => decide(requestId, false)} />
              </p>
            </article>
          ))
        )
      }
    </Loaded>
  );
}
