import { Facts } from '../../parts/Facts.tsx';
import { formatCount, formatDuration, formatTime, formatUsd } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { PageLink } from '../../parts/PageLink.tsx';
import { reveal } from '../../parts/reveal.ts';
import { Section } from '../../parts/Section.tsx';
import { useSearchText } from '../../parts/use-search.ts';
import { Diagnosis } from './Diagnosis.tsx';
import { Received } from './Received.tsx';
import { Steps } from './Steps.tsx';
import { useTurn } from './use-turn.ts';

/** One turn: what it cost, why it failed if it did, what its model received, and its steps. */
export function Run({ turnId }: { turnId: string }) {
  const [session] = useSearchText('session');
  const found = useTurn(turnId);
  const row = found.data ?? undefined;
  const sessionKey = row?.sessionKey ?? (session === '' ? undefined : session);
  return (
    <div ref={reveal}>
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
          <Section title={row?.lastError === undefined ? 'Diagnosis of the session' : 'Why it failed'} needs={['obs.explain']}>
            <Diagnosis sessionKey={sessionKey} turnId={turnId} />
          </Section>
          {row !== undefined && (
            <Section title="What the model received" needs={['obs.bundle']}>
              <Received sessionKey={sessionKey} turnId={turnId} />
            </Section>
          )}
          <Section title="Steps" needs={['context.tree']}>
            <Steps sessionKey={sessionKey} turnId={turnId} />
          </Section>
        </>
      )}
    </div>
  );
}
