import type { ModelMessage, ToolCall } from '@switchyard/models';
import type { ToolResult } from '../tools/tool-result-truncation.ts';
import { OUTCOME_UNKNOWN, type ToolBox, type ToolUse } from '../tools/toolbox.ts';
import { TurnParkedError } from '../approvals/turn-parked.ts';
import type { TurnPlan } from './turn-plan.ts';
import type { FrameBody } from '../frames/frame-splitting.ts';

export interface ToolCallContext {
  plan: TurnPlan;
  tools: ToolBox;
  messages: ModelMessage[];
}

export interface StepCalls {
  number: number;
  calls: readonly ToolCall[];
  /** Number of calls of the step, including those answered before. */
  total: number;
  /** The call that is checkpointed as started. */
  startedCallId: string | undefined;
  /** Request for approval that the first call waited for in an earlier run. */
  requestId?: string | undefined;
  /** The call was started by an earlier run and its outcome is unknown. */
  interrupted: boolean;
}

/** Maximum number of parallel calls. */
const MAX_PARALLEL_CALLS = 8;

/**
 * Runs the calls of one step. Consecutive read-only calls run in parallel, all others sequentially. Results are checkpointed and published
 * in call order. A call of a skill ends its group. At most one of several parallel calls is recorded as started, because all of them may be repeated.
 */
export async function* runToolCalls(
  { plan, tools, messages }: ToolCallContext,
  { number, calls, total, startedCallId, requestId, interrupted }: StepCalls,
): AsyncGenerator<FrameBody, void, void> {
  let recordedCallId = startedCallId;
  for (let at = 0; at < calls.length;) {
    const group = selectGroup(tools, calls, at);
    const [first] = group;
    const unknown = interrupted && at === 0 && first !== undefined && startedCallId === first.callId && !tools.isIdempotent(first.name);
    for (const { callId, name } of group) yield { type: 'tool', step: number, callId, name, state: unknown ? 'interrupted' : 'called' };
    const begin = async (): Promise<void> => {
      if (first) await plan.onCheckpoint?.({ mark: 'begun', callId: first.callId });
    };
    // The settings may have changed since the step was stored, so a call that needed approval may need none any more.
    if (first && recordedCallId !== first.callId && !tools.isIdempotent(first.name) && tools.mayWait?.(first.name) === false) await begin();
    const results = group.map((call, n) => {
      const place = total > 1 ? total - calls.length + at + n : undefined;
      const using = { signal: plan.signal, step: number, at: place, requestId: at + n === 0 ? requestId : undefined, begin };
      return unknown ? INTERRUPTED : runToolCall(tools, call, using);
    });
    // The first call that throws ends the turn; errors of the others are ignored.
    for (const one of results.slice(1)) void Promise.resolve(one).catch(() => undefined);
    for (const [n, { callId, name }] of group.entries()) {
      const outcome = await waitForResult(results[n]);
      if (outcome instanceof TurnParkedError) {
        const { requestId: pending, until, shown } = outcome;
        await plan.onCheckpoint?.({ mark: 'parked', callId, requestId: pending, until });
        if (shown) yield { type: 'approval', ...shown };
        throw outcome;
      }
      const { result, failed, error, storedId, storedChars, untrusted, allowedTools } = outcome;
      const nextCall = calls[at + n + 1];
      const next = nextCall && !tools.mayWait?.(nextCall.name) ? nextCall.callId : undefined;
      recordedCallId = next;
      const noted = {
        result,
        failed,
        ...(error === undefined ? {} : { error }),
        ...(storedId === undefined ? {} : { whole: storedId, wholeChars: storedChars }),
        ...(untrusted === undefined ? {} : { untrusted }),
        ...(allowedTools === undefined ? {} : { allowedTools }),
        ...(next === undefined ? {} : { begins: next }),
      };
      await plan.onCheckpoint?.({ mark: 'result', callId, ...noted });
      messages.push({ role: 'tool', callId, name, result, failed });
      if (!unknown) yield { type: 'tool', step: number, callId, name, state: failed ? 'failed' : 'succeeded' };
    }
    at += group.length;
  }
}

async function waitForResult(result: ToolResult | Promise<ToolResult> | undefined): Promise<ToolResult | TurnParkedError> {
  try {
    return (await result) as ToolResult;
  } catch (error) {
    if (error instanceof TurnParkedError) return error;
    throw error;
  }
}

/** Returns the call at this position and the calls that run in parallel with it. */
function selectGroup(tools: ToolBox, calls: readonly ToolCall[], at: number): readonly ToolCall[] {
  const max = calls.slice(at, at + MAX_PARALLEL_CALLS);
  const other = max.findIndex(({ name }) => !tools.isReadOnly(name));
  const group = max.slice(0, other === -1 ? max.length : Math.max(1, other));
  // A skill may leave fewer tools to the calls after it, so these wait for its result.
  const skill = group.findIndex(({ name }) => tools.find?.(name)?.group === 'skills');
  return skill === -1 ? group : group.slice(0, skill + 1);
}

/** Result for the model of a call that was interrupted and must not be repeated. */
const INTERRUPTED: ToolResult = {
  result: { error: `${OUTCOME_UNKNOWN} The call was interrupted and not repeated.` },
  failed: true,
};

async function runToolCall(tools: ToolBox, call: ToolCall, using: ToolUse): Promise<ToolResult> {
  const { signal } = using;
  signal.throwIfAborted();
  const outcome = await tools.use(call, using);
  signal.throwIfAborted();
  return outcome;
}
