import { RpcError, type CallResult } from '@switchyard/client';
import { CopyAs } from '../../parts/CopyAs.tsx';
import { Exports } from '../../parts/Exports.tsx';
import { formatDuration, formatTime } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { PageLink } from '../../parts/PageLink.tsx';
import { Section } from '../../parts/Section.tsx';
import { useCall } from '../../parts/use-call.ts';
import { useSearchText } from '../../parts/use-search.ts';
import { VirtualList } from '../../parts/VirtualList.tsx';

/** Turns of a conversation whose evidence one call returns. */
export const MAX_EVIDENT_TURNS = 100;

export type EvidentTurn = NonNullable<CallResult<'context.tree'>['turns']>[number];

/** The newest turns of one session. */
export function SessionTurns({ sessionKey }: { sessionKey: string }) {
  return (
    <Section title="Turns of the session" needs={['context.tree']}>
      <p>
        <bdi>{sessionKey}</bdi> ·{' '}
        <PageLink to="/sessions" search={{ session: sessionKey }}>
          its messages
        </PageLink>{' '}
        ·{' '}
        <PageLink to="/runs" search={{}}>
          turns of all sessions
        </PageLink>
      </p>
      <Turns sessionKey={sessionKey} />
    </Section>
  );
}

function Turns({ sessionKey }: { sessionKey: string }) {
  const [turn, selectTurn] = useSearchText('turn');
  const params = { conversation_id: sessionKey, turns: MAX_EVIDENT_TURNS };
  const tree = useCall('context.tree', params, ['message:sent', 'execution:aborted']);
  if (tree.error instanceof RpcError && tree.error.data.code === 'NOT_FOUND')
    return (
      <p className="empty">
        No turn of this session has succeeded yet, or its agent is not the agent of your token. The list of all sessions has its turns too.
      </p>
    );
  return (
    <Loaded query={tree}>
      {({ turns = [] }) => (
        <>
          <VirtualList
            label="Turns, newest first"
            items={turns}
            rowHeight={40}
            getKey={({ turnId }) => turnId}
            render={({ turnId, turn: number, at, evidence }) => (
              <button type="button" className="plain" aria-pressed={turnId === turn} onClick={() => selectTurn(turnId)}>
                Turn {number} · {formatTime(at)} · {evidence === undefined ? 'a command' : describeSteps(evidence)}
              </button>
            )}
          />
          <Exports label="turns of the session" rows={turns} columns={['turn', 'turnId', 'at']} />
          <CopyAs method="context.tree" params={params} />
        </>
      )}
    </Loaded>
  );
}

function describeSteps({ model, steps, dropped = 0 }: NonNullable<EvidentTurn['evidence']>): string {
  const count = steps.length + dropped;
  return `${count} ${count === 1 ? 'step' : 'steps'} · ${formatDuration(steps.reduce((sum, { ms }) => sum + ms, 0))} · ${model ?? 'no model'}`;
}
