import { CopyAs } from '../../parts/CopyAs.tsx';
import { DataTable } from '../../parts/DataTable.tsx';
import { Facts } from '../../parts/Facts.tsx';
import { formatCount, formatDuration, formatUsd } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { PageLink } from '../../parts/PageLink.tsx';
import { NextSteps } from '../../parts/RootCause.tsx';
import { useCall } from '../../parts/use-call.ts';

/** Why the session ended as it did, from logged evidence, with the next steps of the operator. */
export function Diagnosis({ sessionKey, turnId }: { sessionKey: string; turnId: string }) {
  const params = { sessionKey, includeSynthetic: true };
  const report = useCall('obs.explain', params, ['observability:token_usage', 'execution:aborted']);
  return (
    <>
      <Loaded query={report}>
        {({ outcome, summary, likelyRootCause, suggestedNextSteps, failures, traceId, cost, timing, truncations }) => (
          <>
            <p className="headline">
              <span aria-hidden="true">{outcome.severity === 'ok' ? '●' : '▲'}</span> {likelyRootCause?.detail ?? summary}
            </p>
            {traceId !== null && traceId !== turnId && (
              <p>
                The explained turn is{' '}
                <PageLink to="/runs" search={{ turn: traceId, session: sessionKey }}>
                  {traceId}
                </PageLink>
                , the newest one that ended badly.
              </p>
            )}
            <NextSteps steps={suggestedNextSteps} />
            <Facts
              facts={{
                Cause: likelyRootCause?.code,
                'Whole session': likelyRootCause ? summary : undefined,
                'Cost of the session': formatUsd(cost.costUsd),
                Tokens: formatCount(cost.totalTokens),
                Turns: `${timing.turnCount} in ${formatDuration(timing.durationMs)}`,
              }}
            />
            {failures.length > 0 && (
              <DataTable label="failed tool calls" columns={['toolName', 'errorKind', 'errorPreview', 'resultBytes']} rows={failures} />
            )}
            {truncations.map(({ field, reason }) => (
              <p key={field + reason} role="note">
                {field}: {reason}
              </p>
            ))}
          </>
        )}
      </Loaded>
      <CopyAs method="obs.explain" params={params} />
    </>
  );
}
