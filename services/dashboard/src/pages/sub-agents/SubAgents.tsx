import { CopyAs } from '../../parts/CopyAs.tsx';
import { Exports } from '../../parts/Exports.tsx';
import { formatDuration, formatTime } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { Section } from '../../parts/Section.tsx';
import { PeriodSelect } from '../../parts/PeriodSelect.tsx';
import { useCall } from '../../parts/use-call.ts';
import { useSearchText } from '../../parts/use-search.ts';
import { VirtualList } from '../../parts/VirtualList.tsx';
import { Spawn } from './Spawn.tsx';
import { SubAgent } from './SubAgent.tsx';

const PERIODS = { '': ['day', 1_440], '30': ['30 minutes', 30], '10080': ['seven days', 10_080] } as const;

/** The runs of sub-agents, newest first, and the selected one. */
export function SubAgents() {
  const [run, select] = useSearchText('run');
  const [period, setPeriod] = useSearchText('minutes');
  const [, recentMinutes] = PERIODS[period as keyof typeof PERIODS] ?? PERIODS[''];
  const list = useCall('subagent.list', { recentMinutes }, [
    'session:sub_agent_spawn_started',
    'session:sub_agent_completed',
    'session:sub_agent_spawn_queued',
  ]);
  return (
    <>
      <PeriodSelect label="Of the last" value={period} periods={PERIODS} onChange={setPeriod} />
      <Loaded query={list}>
        {({ runs, total }) => (
          <>
            <p>
              {runs.length} of {total} runs
            </p>
            {runs.length === 0 ? (
              <p className="empty">No sub-agent ran in this time.</p>
            ) : (
              <>
                <VirtualList
                  label="Sub-agent runs, newest first"
                  items={runs}
                  rowHeight={40}
                  getKey={({ runId }) => runId}
                  render={({ runId, agentId, status, task, depth, startedAt, durationMs }) => (
                    <button type="button" className="plain" aria-pressed={runId === run} onClick={() => select(runId)}>
                      {formatTime(startedAt)} · {agentId} · {status} · depth {depth} · {formatDuration(durationMs)} ·{' '}
                      <bdi>{task.slice(0, 200)}</bdi>
                    </button>
                  )}
                />
                <Exports
                  label="sub-agents"
                  rows={runs}
                  columns={['runId', 'agentId', 'status', 'startedAt', 'durationMs', 'depth', 'task']}
                />
              </>
            )}
          </>
        )}
      </Loaded>
      <CopyAs method="subagent.list" params={{ recentMinutes }} />
      {run !== '' && <SubAgent key={run} runId={run} />}
      <Section title="Start a sub-agent" needs={['session.spawn']}>
        <Spawn onStarted={select} />
      </Section>
    </>
  );
}
