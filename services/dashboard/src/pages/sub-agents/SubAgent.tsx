import { useQueryClient } from '@tanstack/react-query';
import { Action } from '../../parts/Action.tsx';
import { Confirm } from '../../parts/Confirm.tsx';
import { CopyAs } from '../../parts/CopyAs.tsx';
import { Facts } from '../../parts/Facts.tsx';
import { formatCount, formatDuration, formatTime, formatUsd } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { LongText } from '../../parts/LongText.tsx';
import { PageLink } from '../../parts/PageLink.tsx';
import { Section } from '../../parts/Section.tsx';
import { useCall } from '../../parts/use-call.ts';
import { useDraft } from '../../parts/use-draft.ts';
import { call } from '../../session/client.ts';

/** One run: its task, its progress and its result, with a message to it while it runs. */
export function SubAgent({ runId }: { runId: string }) {
  const run = useCall('session.run_status', { run_id: runId }, ['session:sub_agent_completed', 'session:sub_agent_spawn_started']);
  const [message, setMessage] = useDraft(`message to ${runId}`);
  const cache = useQueryClient();
  const refresh = () =>
    Promise.all([cache.invalidateQueries({ queryKey: ['subagent.list'] }), cache.invalidateQueries({ queryKey: ['session.run_status'] })]);
  return (
    <Section title={`Run ${runId}`} needs={['session.run_status']}>
      <Loaded query={run}>
        {({ status, agentId, task, sessionKey, callerSessionKey, startedAt, runtimeMs, tokensUsed, cost, error, endReason, response }) => (
          <>
            <Facts
              facts={{
                Status: [status, endReason, error].filter((part) => part !== undefined).join(': '),
                Agent: agentId,
                Started: formatTime(startedAt),
                Duration: formatDuration(runtimeMs),
                Tokens: formatCount(tokensUsed?.total),
                Cost: formatUsd(cost?.total),
                Session: <SessionLink sessionKey={sessionKey} />,
                'Started by': callerSessionKey && <SessionLink sessionKey={callerSessionKey} />,
              }}
            />
            <h3>Task</h3>
            <LongText text={task} />
            {response !== undefined && (
              <>
                <h3>Result</h3>
                <LongText text={response} />
              </>
            )}
            {status === 'running' && (
              <>
                <label>
                  Message to the sub-agent
                  <textarea rows={2} value={message} onChange={(event) => setMessage(event.target.value)} />
                </label>
                <p className="tools">
                  <Action
                    label="Send"
                    needs="subagent.steer"
                    disabled={message === ''}
                    run={async () => {
                      await call('subagent.steer', { target: runId, message });
                      setMessage('');
                    }}
                  />
                </p>
              </>
            )}
            {(status === 'running' || status === 'queued') && (
              <Confirm
                label="Stop run"
                name={runId}
                needs="subagent.kill"
                run={async () => {
                  await call('subagent.kill', { target: runId });
                  await refresh();
                }}
              >
                <p>The run stops and counts as failed. Its session keeps its messages.</p>
              </Confirm>
            )}
          </>
        )}
      </Loaded>
      <CopyAs method="session.run_status" params={{ run_id: runId }} />
    </Section>
  );
}

function SessionLink({ sessionKey }: { sessionKey: string }) {
  return (
    <PageLink to="/runs" search={{ session: sessionKey }}>
      <bdi>{sessionKey}</bdi>
    </PageLink>
  );
}
