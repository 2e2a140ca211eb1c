import type { Sections, ToolEffect } from '@switchyard/contracts';

/**
 * `run`: at once. `confirm`: when the model repeats the call with `_confirmed: true`. `wait`: when a person approves. `deny`: never.
 * `tainted`: not in this turn, which has read text from outside while approvals are disabled.
 */
export type Gate = 'run' | 'confirm' | 'wait' | 'deny' | 'tainted';

export interface GateDecision {
  gate: Gate;
  /** Time in milliseconds after which a waiting call is denied. */
  timeoutMs: number;
}

export interface ApprovalSettings {
  approvals: Sections['approvals'];
  confirmation: Sections['security']['actionConfirmation'];
}

export interface GatedCall {
  toolName: string;
  /** Name of the method or operation; that of the tool for tools that appeared at run time. */
  action: string;
  effect: ToolEffect;
  trustLevel: TrustLevel;
  /** The turn has read text from outside, which may have caused the call. */
  isTainted?: boolean;
}

export type TrustLevel = 'admin' | 'user' | 'guest';

const TRUST = { untrusted: 0, basic: 1, verified: 2, admin: 3 } as const;
const LEVELS = { guest: TRUST.untrusted, user: TRUST.verified, admin: TRUST.admin } as const;

/**
 * Decides by rule, effect and settings whether an agent's call may run (docs/decisions/0032). The first matching rule applies. A rule with
 * mode `auto` lifts nothing for a caller below its minimum trust level.
 */
export function decideGate({ approvals, confirmation }: ApprovalSettings, call: GatedCall): GateDecision {
  const rule = approvals.rules.find(({ actionPattern }) => matchesAction(actionPattern, call));
  const timeoutMs = rule?.timeoutMs ?? approvals.defaultTimeoutMs;
  return { gate: decide({ approvals, confirmation }, call, rule), timeoutMs };
}

type Rule = Sections['approvals']['rules'][number];

function decide({ approvals, confirmation }: ApprovalSettings, call: GatedCall, rule: Rule | undefined): Gate {
  const { effect, trustLevel } = call;
  if (rule?.mode === 'deny') return 'deny';
  if (call.isTainted && effect === 'destructive' && confirmation.requireWhenTainted) return decideTainted(approvals, rule);
  if (rule?.mode === 'require') return approvals.enabled ? 'wait' : 'confirm';
  const isLifted = rule !== undefined && LEVELS[trustLevel] >= TRUST[rule.minTrustLevel];
  if (isLifted || confirmation.autoApprove.some((pattern) => matchesAction(pattern, call))) return 'run';
  if (!isGated(confirmation, effect)) return 'run';
  if (!approvals.enabled) return effect === 'destructive' ? 'confirm' : 'run';
  if (rule !== undefined || approvals.defaultMode === 'require') return 'wait';
  if (approvals.defaultMode === 'deny') return 'deny';
  return effect === 'mutate' ? 'run' : 'wait';
}

/** The model's own confirmation counts for nothing here, and no setting lifts the gate. */
function decideTainted({ enabled, defaultMode }: ApprovalSettings['approvals'], rule: Rule | undefined): Gate {
  if (!enabled) return 'tainted';
  return rule === undefined && defaultMode === 'deny' ? 'deny' : 'wait';
}

function isGated({ requireForDestructive, requireForSensitive }: ApprovalSettings['confirmation'], effect: ToolEffect): boolean {
  if (effect === 'destructive') return requireForDestructive;
  return effect === 'mutate' && requireForSensitive;
}

/** Matches the action or the name of the tool; `*` stands for any text. */
function matchesAction(pattern: string, { action, toolName }: Pick<GatedCall, 'action' | 'toolName'>): boolean {
  const parts = pattern.split('*');
  return matchesParts(parts, action) || matchesParts(parts, toolName);
}

/** Linear in the length of the text, whatever the pattern. */
function matchesParts(parts: readonly string[], text: string): boolean {
  const [first = '', ...rest] = parts;
  const last = rest.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at <= text.length - last.length;
}
