import { parseParams, ServiceError, type Principal } from '@switchyard/contracts';
import { deriveId } from '@switchyard/security';
import type { z } from 'zod';
import type { ApprovalDocument } from './approval-document.ts';
import { getTrustLevel, type GatedTurn } from './approval-gate.ts';
import type { Approvals } from './approvals.ts';
import { PARK_PREFIX, TurnParkedError } from './turn-parked.ts';
import type { ToolResult } from '../tools/tool-result-truncation.ts';
import type { ToolBox, ToolUse } from '../tools/toolbox.ts';
import { ASK_USER, AskUserInput, isPauseTool, MAX_SLEEP_MS, SLEEP_UNTIL, SleepUntilInput } from '../tools/pause-tools.ts';

export interface PauseOptions {
  approvals: Pick<Approvals, 'find' | 'request'>;
  principal: Principal;
  turn: GatedTurn;
  now: () => number;
}

/** Executes `ask_user` and `sleep_until` by parking the turn. It holds no process, no lease and no slot while it waits. */
export function withPauses(tools: ToolBox, options: PauseOptions): ToolBox {
  return {
    ...tools,
    get specs() {
      return tools.specs;
    },
    mayWait: (name) => isPauseTool(name) || tools.mayWait?.(name) === true,
    async use(call, using) {
      // A tool that the policy of the turn leaves out is unknown to the inner tools.
      if (!isPauseTool(call.name) || !tools.find?.(call.name)) return tools.use(call, using);
      try {
        if (call.name === SLEEP_UNTIL) return sleepUntil(parseParams(SleepUntilInput, call.input), using, options.now());
        return await askUser(parseParams(AskUserInput, call.input), using, options);
      } catch (error) {
        if (!(error instanceof ServiceError && error.code === 'INVALID_ARGUMENT')) throw error;
        return { result: { error: `${error.code}: ${error.message}` }, failed: true, error: { code: error.code } };
      }
    },
  };
}

/** The end of a sleep is part of the stored id, so that a relative time counts from the first run. */
function sleepUntil({ at, afterMs = 0 }: z.infer<typeof SleepUntilInput>, { requestId }: ToolUse, now: number): ToolResult {
  const stored = requestId?.startsWith(`${PARK_PREFIX.sleep}_`) ? Number(requestId.slice(PARK_PREFIX.sleep.length + 1)) : undefined;
  const until = stored ?? (at === undefined ? now + afterMs : Date.parse(at));
  if (until > now + MAX_SLEEP_MS) return { result: { error: 'The time is more than 7 days away. Use a scheduled job.' }, failed: true };
  if (until > now) throw new TurnParkedError({ requestId: `${PARK_PREFIX.sleep}_${until}`, until });
  return { result: { now: new Date(now).toISOString() }, failed: false };
}

async function askUser(
  { question, options, timeoutMs }: z.infer<typeof AskUserInput>,
  using: ToolUse,
  { approvals, principal, turn, now }: PauseOptions,
): Promise<ToolResult> {
  const { tenant } = principal;
  const requestId = deriveId(PARK_PREFIX.question, tenant, turn.turnId, String(using.step), String(using.at ?? ''));
  const known = await approvals.find(tenant, requestId);
  if (known?.verdict !== undefined) return toResult(known);
  const { agentId, sessionKey, turnId } = turn;
  const params = { question, ...(options === undefined ? {} : { options }) };
  const trustLevel = getTrustLevel(principal);
  const request = { requestId, toolName: ASK_USER, action: ASK_USER, params, agentId, sessionKey, turnId, trustLevel, timeoutMs };
  // An answer belongs to this question alone, so its id is the key of coalescing.
  const pending = known ?? (await approvals.request(tenant, { ...request, actionKey: requestId }));
  const until = pending.createdAt + pending.timeoutMs;
  if (until <= now()) return toResult({ ...pending, verdict: 'expired' });
  throw new TurnParkedError({ requestId, until, shown: { requestId, action: ASK_USER, ...params } });
}

function toResult({ verdict, answer, decidedBy, reason }: ApprovalDocument): ToolResult {
  if (verdict === 'approved') return { result: { answered: true, answer: answer ?? '', answeredBy: decidedBy }, failed: false };
  const because = verdict === 'expired' ? 'nobody answered in time' : (reason ?? 'the question was declined');
  return { result: { answered: false, reason: because }, failed: false };
}
