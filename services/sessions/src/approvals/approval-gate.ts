import { createHash } from 'node:crypto';
import type { Principal, Sections } from '@switchyard/contracts';
import { deriveId } from '@switchyard/security';
import type { ToolCall } from '@switchyard/models';
import type { ToolResult } from '../tools/tool-result-truncation.ts';
import type { ToolBox, ToolUse } from '../tools/toolbox.ts';
import type { ApprovalDocument } from './approval-document.ts';
import { decideGate, type GateDecision, type TrustLevel } from './approval-policy.ts';
import type { Approvals } from './approvals.ts';
import type { TurnTaint } from '../screening/untrusted-results.ts';
import { getParkKind, PARK_PREFIX, TurnParkedError } from './turn-parked.ts';

/** Arguments longer than this are shown in part. */
const MAX_SHOWN_CHARS = 8_192;
/** Argument with which a model repeats a call that requires confirmation. */
const CONFIRMED = '_confirmed';

export type GateSettings = Pick<Sections, 'approvals' | 'security'>;

/** The turn whose calls are gated. */
export interface GatedTurn {
  turnId: string;
  agentId: string;
  sessionKey: string;
  /** Conversation that the approval belongs to. */
  epoch: string;
}

export interface GateOptions {
  settings: () => GateSettings;
  principal: Principal;
  taint?: Pick<TurnTaint, 'isTainted'> | undefined;
  /** Stores the requests of a durable turn. Without it a call that needs approval is refused. */
  durable?: { approvals: Approvals; turn: GatedTurn } | undefined;
}

type Call = Pick<ToolCall, 'name' | 'input'>;

/** Lets a call run only when its effect, the rules and, where they say so, a person allow it (docs/decisions/0032). */
export function withApprovals(tools: ToolBox, { settings, principal, taint, durable }: GateOptions): ToolBox {
  const trustLevel = getTrustLevel(principal);
  const check = (name: string): GateDecision & { action: string } => {
    const { method: action = name, effect = 'destructive' } = tools.find?.(name) ?? {};
    // A call of an unknown tool has no effect.
    if (!tools.find?.(name)) return { gate: 'run', timeoutMs: 0, action };
    const { approvals, security } = settings();
    const call = { toolName: name, action, effect, trustLevel, isTainted: taint?.isTainted === true };
    return { ...decideGate({ approvals, confirmation: security.actionConfirmation }, call), action };
  };
  const waits = (name: string): boolean => (durable !== undefined && check(name).gate === 'wait') || tools.mayWait?.(name) === true;

  async function findVerdict(call: Call, decision: GateDecision & { action: string }, using: ToolUse): Promise<ApprovalDocument> {
    if (!durable) throw new TypeError('a stateless turn has no requests');
    const { approvals, turn } = durable;
    const { tenant } = principal;
    const actionKey = digestCall(call, decision.action, turn);
    const waited = using.requestId !== undefined && getParkKind(using.requestId) === 'approval' ? using.requestId : undefined;
    const requestId = waited ?? deriveId(PARK_PREFIX.approval, tenant, turn.turnId, String(using.step), String(using.at ?? ''), actionKey);
    const existing = await approvals.find(tenant, requestId);
    if (existing && existing.actionKey !== actionKey) return { ...existing, verdict: 'denied', reason: 'the arguments have changed' };
    const known = existing ?? (await approvals.findCached(tenant, actionKey));
    if (known?.verdict !== undefined) return known;
    const { action, timeoutMs } = decision;
    const { agentId, sessionKey, turnId } = turn;
    const tainted = taint?.isTainted ? { tainted: true as const } : {};
    const request = { requestId, toolName: call.name, action, params: toShown(call.input), agentId, sessionKey, turnId, ...tainted };
    const pending = known ?? (await approvals.request(tenant, { ...request, trustLevel, actionKey, timeoutMs }));
    const shown = { requestId: pending.requestId, action };
    throw new TurnParkedError({ requestId: pending.requestId, until: pending.createdAt + pending.timeoutMs, shown });
  }

  return {
    ...tools,
    get specs() {
      return tools.specs;
    },
    isReadOnly: (name) => tools.isReadOnly(name) && check(name).gate === 'run',
    mayWait: waits,
    async use(call, using) {
      const decision = check(call.name);
      const plain = withoutConfirmation(call);
      if (decision.gate === 'run') return tools.use(plain, using);
      if (decision.gate === 'confirm') return isConfirmed(call) ? tools.use(plain, using) : confirmationNeeded(call.name);
      if (decision.gate === 'deny') return refused('APPROVAL_RULE', `A rule of the operator denies ${decision.action}.`);
      if (decision.gate === 'tainted') return refused('TAINTED_CONTEXT', describeTainted(decision.action));
      if (!durable)
        return refused(
          'APPROVAL_PENDING',
          `APPROVAL_PENDING: ${decision.action} requires the approval of a person, which this interface cannot wait for.`,
        );
      const verdict = await findVerdict(plain, decision, using);
      if (verdict.verdict !== 'approved') return denied(verdict);
      await using.begin?.();
      return tools.use(plain, using);
    },
  };
}

/** Trust level of a client by its scopes. */
export function getTrustLevel({ scopes }: Pick<Principal, 'scopes'>): TrustLevel {
  if (scopes.includes('admin') || scopes.includes('*')) return 'admin';
  return scopes.includes('rpc') ? 'user' : 'guest';
}

function digestCall({ name, input }: Call, action: string, { sessionKey, epoch, agentId }: GatedTurn): string {
  return createHash('sha256')
    .update(JSON.stringify([sessionKey, epoch, agentId, action, name, sortKeys(input)]))
    .digest('base64url');
}

/** Returns a copy whose objects have sorted keys, so that equal arguments have equal JSON. */
function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (!isObject(value)) return value ?? null;
  return Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, one]) => [key, sortKeys(one)]);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function toShown(input: unknown): Record<string, unknown> {
  const text = JSON.stringify(input) ?? '';
  if (text.length <= MAX_SHOWN_CHARS) return isObject(input) ? input : { input };
  return { truncated: true, characters: text.length, beginning: text.slice(0, MAX_SHOWN_CHARS).toWellFormed() };
}

function withoutConfirmation(call: Call): Call {
  if (!isObject(call.input) || !(CONFIRMED in call.input)) return call;
  const { [CONFIRMED]: _confirmed, ...input } = call.input;
  return { ...call, input };
}

function isConfirmed({ input }: Call): boolean {
  return isObject(input) && input[CONFIRMED] === true;
}

function confirmationNeeded(name: string): ToolResult {
  const hint = `${name} is destructive. If the user asked for exactly this, repeat the call with "${CONFIRMED}": true.`;
  return { result: { requiresConfirmation: true, hint }, failed: false };
}

/** Why a person or a rule kept a call from running, for the evidence of the turn. */
type Refusal = 'TAINTED_CONTEXT' | 'APPROVAL_DENIED' | 'APPROVAL_EXPIRED' | 'APPROVAL_PENDING' | 'APPROVAL_RULE';

function refused(reason: Refusal, error: string): ToolResult {
  return { result: { error: `PERMISSION_DENIED: ${error}` }, failed: true, error: { code: 'PERMISSION_DENIED', reason } };
}

function describeTainted(action: string): string {
  return `${action} is destructive, and this turn has read text from outside. It requires the approval of a person, and approvals are disabled (approvals.enabled).`;
}

function denied({ verdict, decidedBy, reason, action }: ApprovalDocument): ToolResult {
  if (verdict === 'expired') return refused('APPROVAL_EXPIRED', `Nobody approved ${action} in time. It was not executed.`);
  const because = reason === undefined ? '' : ` Reason: ${reason}`;
  return refused('APPROVAL_DENIED', `${action} was denied by ${decidedBy ?? 'an operator'} and not executed.${because}`);
}
