import { httpStatus, type CallerToolCall, type ErrorCode, type ResponseState, type StatelessResult } from '@switchyard/contracts';
import { createReasoningItem, getProviderState, type ReasoningItem } from './provider-state.ts';
import { readCallOrigins, toCallItem, type CallItem } from './call-items.ts';

/** Fields that are equal in all resources of one response. */
export interface ResponseHead {
  /** Id of the turn; the response id is the same with another prefix. */
  turnId: string;
  /** Seconds. */
  createdAt: number;
  echo: Readonly<Record<string, unknown>>;
  /** Whether the client receives reasoning items, which the strict format does not have. */
  lenient?: boolean;
}

type Status = 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled';

/** The state of a response. */
export interface ResponseOutcome {
  status: Status;
  text: string;
  calls?: readonly CallerToolCall[] | undefined;
  /** Fields that the provider expects back. */
  providerFields?: Record<string, unknown> | undefined;
  usage?: StatelessResult['tokensUsed'] | undefined;
  /** Seconds. */
  endedAt?: number | undefined;
  /** The reason of an incomplete response. */
  reason?: string | undefined;
  error?: { code: string; message: string } | undefined;
}

const SUFFIX = /^resp_([0-9A-Za-z]{22})$/;

export function toResponseId(turnId: string): string {
  return `resp_${getIdSuffix(turnId)}`;
}

/** Returns the turn id of a response id; undefined for other ids. */
export function parseResponseId(id: string): string | undefined {
  const [, suffix] = SUFFIX.exec(id) ?? [];
  return suffix === undefined ? undefined : `turn_${suffix}`;
}

export function getIdSuffix(turnId: string): string {
  return turnId.slice(turnId.indexOf('_') + 1);
}

/** Creates the response object of the Open Responses specification. */
export function createResponseResource(head: ResponseHead, outcome: ResponseOutcome): Record<string, unknown> {
  const { turnId, createdAt, echo } = head;
  const { status, usage, reason, error, endedAt } = outcome;
  return {
    id: toResponseId(turnId),
    object: 'response',
    created_at: createdAt,
    completed_at: status === 'completed' ? (endedAt ?? null) : null,
    status,
    incomplete_details: reason === undefined ? null : { reason },
    error: error ?? null,
    output: createOutput(head, outcome),
    usage: usage === undefined ? null : toUsage(usage),
    ...echo,
  };
}

/** Lists the message before the reasoning and the tool calls, because it is streamed first. A completed response with neither has an empty message. */
function createOutput(head: ResponseHead, outcome: ResponseOutcome): object[] {
  const { status, text, calls = [] } = outcome;
  const itemStatus = status === 'completed' ? 'completed' : 'incomplete';
  const omitMessage = text === '' && (calls.length > 0 || status !== 'completed');
  return [
    ...(omitMessage ? [] : [createMessageItem(head.turnId, itemStatus, text)]),
    ...listReasoningItems(head, outcome).map(({ item }) => item),
    ...listCallItems(head, calls).map((item) => item.render(itemStatus)),
  ];
}

type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

export function toMessageId(turnId: string): string {
  return `msg_${getIdSuffix(turnId)}`;
}

/** Creates a message item. Without text its content is still empty. */
export function createMessageItem(turnId: string, status: ItemStatus, text?: string): object {
  return { type: 'message', id: toMessageId(turnId), status, role: 'assistant', content: text === undefined ? [] : [createTextPart(text)] };
}

export function createTextPart(text: string): object {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

/** Lists the reasoning item with the state of the provider, if the client receives it. */
export function listReasoningItems({ turnId, echo, lenient = false }: ResponseHead, outcome: ResponseOutcome): ReasoningItem[] {
  const state = lenient ? getProviderState({ echo }, outcome) : undefined;
  return state === undefined ? [] : [createReasoningItem(toReasoningId(turnId), state)];
}

export function toReasoningId(turnId: string): string {
  return `rs_${getIdSuffix(turnId)}`;
}

/** Lists the calls of a response as the client reads them. */
export function listCallItems({ turnId, echo }: Pick<ResponseHead, 'turnId' | 'echo'>, calls: readonly CallerToolCall[]): CallItem[] {
  const origins = readCallOrigins(echo['tools']);
  return calls.map((call, index) => toCallItem(getIdSuffix(turnId), { call, index }, origins));
}

function toUsage({ input, output, total }: StatelessResult['tokensUsed']): object {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: total,
  };
}

/** The `incomplete_details` reason of finish reasons that cut a response short. */
const INCOMPLETE_REASONS: Partial<Record<StatelessResult['finishReason'], string>> = {
  output_starved: 'max_output_tokens',
  budget_exceeded: 'max_output_tokens',
  budget_exhausted: 'max_output_tokens',
  max_steps: 'max_tool_calls',
};

export function toOutcomeStatus({
  finishReason,
  filtered,
}: Pick<StatelessResult, 'finishReason' | 'filtered'>): Pick<ResponseOutcome, 'status' | 'reason'> {
  const reason = filtered ? 'content_filter' : INCOMPLETE_REASONS[finishReason];
  return reason === undefined ? { status: 'completed' } : { status: 'incomplete', reason };
}

/** Converts a failed turn to the error of a response. */
export function toFailedOutcome({
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

/** Converts the state of a stored response to an outcome. */
export function toOutcome({ result, said: text = '', failure, endedAt }: ResponseState): ResponseOutcome {
  if (result)
    return {
      ...toOutcomeStatus(result),
      text,
      calls: result.toolCalls,
      providerFields: result.providerFields,
      usage: result.tokensUsed,
      endedAt,
    };
  if (failure) return { ...toFailedOutcome({ ...failure, reason: failure.details?.['reason'] }), text, endedAt };
  return { status: 'in_progress', text: '' };
}
