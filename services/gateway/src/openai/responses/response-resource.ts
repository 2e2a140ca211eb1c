import { httpStatus, type CallerToolCall, type ErrorCode, type ResponseState, type StatelessResult } from '@switchyard/contracts';

/** Fields that are equal in all resources of one response. */
export interface ResponseHead {
  /** Id of the turn; the response id is the same with another prefix. */
  turnId: string;
  /** Seconds. */
  createdAt: number;
  echo: Readonly<Record<string, unknown>>;
}

type Status = 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled';

/** How far a response is. */
export interface ResponseOutcome {
  status: Status;
  text: string;
  calls?: readonly CallerToolCall[] | undefined;
  usage?: StatelessResult['tokensUsed'] | undefined;
  /** Seconds. */
  endedAt?: number | undefined;
  /** Why it is incomplete. */
  reason?: string | undefined;
  error?: { code: string; message: string } | undefined;
}

const SUFFIX = /^resp_([0-9A-Za-z]{22})$/;

export function responseId(turnId: string): string {
  return `resp_${suffixOf(turnId)}`;
}

/** Returns the turn id of a response id; undefined for other ids. */
export function turnOf(id: string): string | undefined {
  const [, suffix] = SUFFIX.exec(id) ?? [];
  return suffix === undefined ? undefined : `turn_${suffix}`;
}

export function suffixOf(turnId: string): string {
  return turnId.slice(turnId.indexOf('_') + 1);
}

/** The resource, all 31 fields of it. */
export function responseResource({ turnId, createdAt, echo }: ResponseHead, outcome: ResponseOutcome): Record<string, unknown> {
  const { status, usage, reason, error, endedAt } = outcome;
  return {
    id: responseId(turnId),
    object: 'response',
    created_at: createdAt,
    completed_at: status === 'completed' ? (endedAt ?? null) : null,
    status,
    incomplete_details: reason === undefined ? null : { reason },
    error: error ?? null,
    output: outputOf(turnId, outcome),
    usage: usage === undefined ? null : usageOf(usage),
    ...echo,
  };
}

/** Text comes before tool calls; an answer without both has an empty text. */
function outputOf(turnId: string, { status, text, calls = [] }: ResponseOutcome): object[] {
  const whole = status === 'completed' ? 'completed' : 'incomplete';
  const silent = text === '' && (calls.length > 0 || status !== 'completed');
  return [...(silent ? [] : [messageItem(turnId, whole, text)]), ...calls.map((call, at) => callItem(turnId, { call, at, status: whole }))];
}

type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

export function messageId(turnId: string): string {
  return `msg_${suffixOf(turnId)}`;
}

/** Without a text it has only begun. */
export function messageItem(turnId: string, status: ItemStatus, text?: string): object {
  return { type: 'message', id: messageId(turnId), status, role: 'assistant', content: text === undefined ? [] : [textPart(text)] };
}

export function textPart(text: string): object {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

export interface Called {
  call: CallerToolCall;
  /** Which of the calls it is. */
  at: number;
  status: ItemStatus;
}

export function callId(turnId: string, at: number): string {
  return `fc_${suffixOf(turnId)}_${at}`;
}

export function callItem(turnId: string, { call, at, status }: Called): object {
  const { callId: call_id, name, arguments: written } = call;
  return { type: 'function_call', id: callId(turnId, at), call_id, name, arguments: status === 'in_progress' ? '' : written, status };
}

function usageOf({ input, output, total }: StatelessResult['tokensUsed']): object {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: total,
  };
}

/** Ends that are not the model's own: why the answer is not whole. */
const CUT_SHORT: Partial<Record<StatelessResult['finishReason'], string>> = {
  output_starved: 'max_output_tokens',
  budget_exceeded: 'max_output_tokens',
  budget_exhausted: 'max_output_tokens',
  max_steps: 'max_tool_calls',
};

export function endOf(finishReason: StatelessResult['finishReason']): Pick<ResponseOutcome, 'status' | 'reason'> {
  const reason = CUT_SHORT[finishReason];
  return reason === undefined ? { status: 'completed' } : { status: 'incomplete', reason };
}

/** Converts a failed turn to the error of a response. */
export function failureOf({
  code,
  message,
  reason,
}: {
  code: ErrorCode;
  message: string;
  reason: unknown;
}): Partial<ResponseOutcome> & Pick<ResponseOutcome, 'status'> {
  if (reason === 'TURN_CANCELLED') return { status: 'cancelled', reason: 'cancelled' };
  return { status: 'failed', error: { code: httpStatus(code) === 429 ? 'rate_limit_exceeded' : 'server_error', message } };
}

/** A response that is kept, as far as it is. */
export function outcomeOf({ result, said = '', failure, endedAt }: ResponseState): ResponseOutcome {
  if (result) return { ...endOf(result.finishReason), text: said, calls: result.toolCalls, usage: result.tokensUsed, endedAt };
  if (failure) return { ...failureOf({ ...failure, reason: failure.details?.['reason'] }), text: said, endedAt };
  return { status: 'in_progress', text: '' };
}
