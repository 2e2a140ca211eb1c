import { useQueryClient } from '@tanstack/react-query';
import { Action } from '../../parts/Action.tsx';
import { useDraft } from '../../parts/use-draft.ts';
import { call } from '../../session/client.ts';

/** A form that gives a task of an existing session to a sub-agent. */
export function Spawn({ onStarted }: { onStarted: (runId: string) => void }) {
  const [parentKey, setParentKey] = useDraft('sub-agent session');
  const [agentId, setAgentId] = useDraft('sub-agent agent');
  const [task, setTask] = useDraft('sub-agent task');
  const cache = useQueryClient();
  const start = async (): Promise<void> => {
    const { runId } = await call('session.spawn', { parentKey, task, ...(agentId === '' ? {} : { agentId }) });
    setTask('');
    await cache.invalidateQueries({ queryKey: ['subagent.list'] });
    onStarted(runId);
  };
  return (
    <>
      <label>
        Session <input value={parentKey} onChange={(event) => setParentKey(event.target.value)} autoComplete="off" />
      </label>
      <label>
        Agent (default: the agent of the session){' '}
        <input value={agentId} onChange={(event) => setAgentId(event.target.value)} autoComplete="off" />
      </label>
      <label>
        Task
        <textarea rows={3} value={task} onChange={(event) => setTask(event.target.value)} />
      </label>
      <p className="tools">
        <Action label="Start" needs="session.spawn" disabled={parentKey === '' || task === ''} run={start} />
      </p>
    </>
  );
}
