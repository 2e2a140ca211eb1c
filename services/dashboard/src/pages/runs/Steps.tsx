import { Facts } from '../../parts/Facts.tsx';
import { formatCount, formatDuration } from '../../parts/format.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { CopyAs } from '../../parts/CopyAs.tsx';
import { useCall } from '../../parts/use-call.ts';
import { MAX_EVIDENT_TURNS, type EvidentTurn } from './SessionTurns.tsx';
import { Waterfall } from './Waterfall.tsx';

/** The steps of a turn as far as its evidence tells, and what its model received. */
export function Steps({ sessionKey, turnId }: { sessionKey: string; turnId: string }) {
  const params = { conversation_id: sessionKey, turns: MAX_EVIDENT_TURNS };
  const tree = useCall('context.tree', params, ['message:sent', 'execution:aborted']);
  return (
    <Loaded query={tree}>
      {({ turns = [] }) => {
        const turn = turns.find((one) => one.turnId === turnId);
        if (turn === undefined)
          return (
            <p className="empty">
              The evidence of the newest {MAX_EVIDENT_TURNS} turns of the current conversation is kept. This turn is not among them.
            </p>
          );
        if (turn.evidence === undefined) return <p className="empty">This turn was a command. It called no model.</p>;
        return (
          <>
            <Waterfall steps={turn.evidence.steps} model={turn.evidence.model} label={`Steps of ${turnId}`} />
            <Omissions evidence={turn.evidence} />
            <Received evidence={turn.evidence} />
            <CopyAs method="context.tree" params={params} />
          </>
        );
      }}
    </Loaded>
  );
}

type Evidence = NonNullable<EvidentTurn['evidence']>;

function Omissions({ evidence: { dropped = 0, before = 0 } }: { evidence: Evidence }) {
  if (dropped === 0 && before === 0) return undefined;
  return (
    <p role="note">
      {dropped > 0 && <>{dropped} later steps are not kept. </>}
      {before > 0 && <>{before} steps of an earlier attempt are not kept.</>}
    </p>
  );
}

/** The prompt as counts. Its texts are the messages of the session. */
function Received({ evidence: { told, recalled, window, screened, output } }: { evidence: Evidence }) {
  return (
    <>
      <h3>What the model received</h3>
      <Facts
        facts={{
          Messages: told && `${told.messages} verbatim with ${formatCount(told.chars)} characters; ${told.leftOut} left out`,
          Summaries: told && `${told.summaries}, which cover ${told.folded} messages`,
          Tools: told && String(told.tools),
          Memories: recalled && `${recalled.count} with ${formatCount(recalled.chars)} characters`,
          'Context window':
            window &&
            `${formatCount(window.used)} of ${formatCount(window.tokens)} tokens used, ${formatCount(window.reserved)} kept free for the answer${window.fits ? '' : '; the prompt did not fit'}`,
          'Screening of the input': screened && `risk ${screened.risk}: ${[...screened.patterns, ...screened.shapes].join(', ')}`,
          'Redacted in the answer': output && [...output.redacted, ...output.warned].join(', '),
          Reranking: recalled?.reranked && `${recalled.reranked.candidates} candidates in ${formatDuration(recalled.reranked.ms)}`,
        }}
      />
    </>
  );
}
