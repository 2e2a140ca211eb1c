import type { Principal } from '@switchyard/contracts';
import type { TurnDocument } from '../model/turn-document.ts';
import type { ToolBox } from '../tools/toolbox.ts';
import { withApprovals, type GateSettings } from './approval-gate.ts';
import type { Approvals } from './approvals.ts';

/** Gates the tools of turns. */
export interface ApprovalGate {
  forTurn(principal: Principal, options: { turn: TurnDocument; epoch: string }): (tools: ToolBox) => ToolBox;
  /** A stateless turn cannot wait, so calls that require approval are refused. */
  forStateless(principal: Principal): (tools: ToolBox) => ToolBox;
  /** Returns whether a request is undecided. */
  isPending(tenant: string, requestId: string): Promise<boolean>;
}

export function createApprovalGate(settings: () => GateSettings, approvals: Approvals): ApprovalGate {
  return {
    forTurn(principal, { turn: { turnId, agentId, sessionKey, scopes }, epoch }) {
      const held = { ...principal, scopes: scopes as Principal['scopes'] };
      return (tools) =>
        withApprovals(tools, { settings, principal: held, durable: { approvals, turn: { turnId, agentId, sessionKey, epoch } } });
    },
    forStateless: (principal) => (tools) => withApprovals(tools, { settings, principal }),
    async isPending(tenant, requestId) {
      const request = await approvals.find(tenant, requestId);
      return request !== null && request.verdict === undefined;
    },
  };
}
