import type { Principal } from '@switchyard/contracts';
import type { TurnDocument } from '../model/turn-document.ts';
import { withPauses } from './turn-pauses.ts';
import { withUntrustedResults, type ResultScreeningOptions } from '../screening/untrusted-results.ts';
import type { ToolBox } from '../tools/toolbox.ts';
import { withApprovals, type GateSettings } from './approval-gate.ts';
import type { Approvals } from './approvals.ts';
import { getParkKind } from './turn-parked.ts';

/** Gates the tools of turns. */
export interface ApprovalGate {
  forTurn(
    principal: Principal,
    options: { turn: TurnDocument; epoch: string; screening: ResultScreeningOptions },
  ): (tools: ToolBox) => ToolBox;
  /** A stateless turn cannot wait, so calls that require approval are refused. */
  forStateless(principal: Principal, screening: ResultScreeningOptions): (tools: ToolBox) => ToolBox;
  /** Returns the time at which a parked turn runs even if nobody wakes it; undefined if it can run now. */
  findWakeTime(tenant: string, parked: NonNullable<TurnDocument['parked']>): Promise<number | undefined>;
}

/** Time after the timeout of a request at which a session whose wake was lost runs. */
const WAKE_GRACE_MS = 5_000;

export function createApprovalGate(settings: () => GateSettings, approvals: Approvals, now: () => number): ApprovalGate {
  return {
    forTurn(principal, { turn: { turnId, agentId, sessionKey, scopes }, epoch, screening }) {
      const held = { ...principal, scopes: scopes as Principal['scopes'] };
      const gated = { turnId, agentId, sessionKey, epoch };
      return (tools) => {
        const pausing = withPauses(withUntrustedResults(tools, screening), { approvals, principal: held, turn: gated, now });
        return withApprovals(pausing, { settings, principal: held, taint: screening.taint, durable: { approvals, turn: gated } });
      };
    },
    forStateless: (principal, screening) => (tools) =>
      withApprovals(withUntrustedResults(tools, screening), { settings, principal, taint: screening.taint }),
    async findWakeTime(tenant, { requestId, until }) {
      if (getParkKind(requestId) === 'sleep') return until > now() ? until : undefined;
      const request = await approvals.find(tenant, requestId);
      return request !== null && request.verdict === undefined ? until + WAKE_GRACE_MS : undefined;
    },
  };
}
