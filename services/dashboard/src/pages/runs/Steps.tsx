import { RpcError } from '@switchyard/client';
import type { TurnEvidence } from '@switchyard/contracts';
import { Exports } from '../../parts/Exports.tsx';
import { Loaded } from '../../parts/Loaded.tsx';
import { CopyAs } from '../../parts/CopyAs.tsx';
import { useCall } from '../../parts/use-call.ts';
import { readBundle } from './bundle.ts';
import { MAX_EVIDENT_TURNS } from './SessionTurns.tsx';
import { Waterfall } from './Waterfall.tsx';

const COLUMNS = ['step', 'at', 'ms', 'firstMs', 'model', 'input', 'output', 'costUsd', 'tools'];

interface StepsProps {
  sessionKey: string;
  turnId: string;
}

/** The steps of a turn as far as its evidence tells. Reads the conversation if observability does not have the evidence. */
export function Steps({ sessionKey, turnId }: StepsProps) {
  const bundle = useCall('obs.bundle', { traceId: turnId });
  if (bundle.isPending) return <Loaded query={bundle}>{() => undefined}</Loaded>;
  const evidence = bundle.data && readBundle(bundle.data, turnId).evidence;
  return evidence ? <EvidentSteps turnId={turnId} evidence={evidence} /> : <StepsOfConversation sessionKey={sessionKey} turnId={turnId} />;
}

/** `context.tree` returns only conversations of the agent of the token. */
function StepsOfConversation({ sessionKey, turnId }: StepsProps) {
  const params = { conversation_id: sessionKey, turns: MAX_EVIDENT_TURNS };
  const tree = useCall('context.tree', params, ['message:sent', 'execution:aborted']);
  // A session has no conversation before its first turn succeeds.
  if (tree.error instanceof RpcError && tree.error.data.code === 'NOT_FOUND') return <Unkept />;
  return (
    <Loaded query={tree}>
      {({ turns = [] }) => {
        const turn = turns.find((one) => one.turnId === turnId);
        if (turn === undefined) return <Unkept />;
        if (turn.evidence === undefined) return <p className="empty">This turn was a command. It called no model.</p>;
        return (
          <>
            <EvidentSteps turnId={turnId} evidence={turn.evidence} />
            <CopyAs method="context.tree" params={params} />
          </>
        );
      }}
    </Loaded>
  );
}

function EvidentSteps({ turnId, evidence }: { turnId: string; evidence: TurnEvidence }) {
  return (
    <>
      <Waterfall steps={evidence.steps} model={evidence.model} label={`Steps of ${turnId}`} />
      <Exports label="steps" rows={evidence.steps} columns={COLUMNS} />
      <Omissions evidence={evidence} />
    </>
  );
}

function Unkept() {
  return (
    <p className="empty">
      The steps of the newest {MAX_EVIDENT_TURNS} turns that succeeded in the current conversation are kept. This turn is not among them.
    </p>
  );
}

function Omissions({ evidence: { dropped = 0, before = 0 } }: { evidence: TurnEvidence }) {
  if (dropped === 0 && before === 0) return undefined;
  return (
    <p role="note">
      {dropped > 0 && <>{dropped} later steps are not kept. </>}
      {before > 0 && <>{before} steps of an earlier attempt are not kept.</>}
    </p>
  );
}
