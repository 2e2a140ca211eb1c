import { Facts } from '../../parts/Facts.tsx';
import { formatCount, formatDuration, formatTime, formatUsd } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { PageLink } from '../../parts/PageLink.tsx';
import { Section } from '../../parts/Section.tsx';
import { useSearchText } from '../../parts/use-search.ts';
import { Diagnosis } from './Diagnosis.tsx';
import { Steps } from './Steps.tsx';
import { useTurn } from './use-turn.ts';

/** One turn: what it cost, its steps, what the model received, and why the session failed. */
export function Run({ turnId }: { turnId: string }) {
  const [session] = useSearchText('session');
  const found = useTurn(turnId);
  const row = found.data ?? undefined;
  const sessionKey = row?.sessionKey ?? (session === '' ? undefined : session);
  return (
    <>
      <Section title={`Run ${turnId}`} needs={['obs.trace.search']}>
        <Loaded query={found}>
          {() =>
            row === undefined ? (
              <p className="empty">This turn is not recorded yet, or its record has expired.</p>
            ) : (
              <Facts
                facts={{
                  Ended: formatTime(row.at),
                  Agent: row.agentId,
                  Session: row.sessionKey && (
                    <PageLink to="/sessions" search={{ session: row.sessionKey }}>
                      <bdi>{row.sessionKey}</bdi>
                    </PageLink>
                  ),
                  Outcome: row.lastError ?? row.state,
                  Model: row.model,
                  Duration: formatDuration(row.durationMs),
                  Tokens: formatCount(row.tokens),
                  Cost: formatUsd(row.costUsd),
                }}
              />
            )
          }
        </Loaded>
      </Section>
      {sessionKey !== undefined && (
        <>
          <Section title="Steps" needs={['context.tree']}>
            <Steps sessionKey={sessionKey} turnId={turnId} />
          </Section>
          <Section title="Diagnosis of the session" needs={['obs.explain']}>
            <Diagnosis sessionKey={sessionKey} turnId={turnId} />
          </Section>
        </>
      )}
    </>
  );
}
