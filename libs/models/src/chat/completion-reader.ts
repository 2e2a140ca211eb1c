import type { CountedUsage, Ending, Delta } from '../model/adapter.ts';
import { createFrameError } from '../errors/provider-errors.ts';
import { createToolCallBuilder, type ToolCallBuilder } from './call-builder.ts';
import { getAmount, isJsonObject, getFields, getText, type JsonFields } from '../http/json-fields.ts';
import { mergeFields, selectMessageFields } from './provider-fields.ts';
import { ProtocolError } from '../errors/protocol-error.ts';

const DONE = '[DONE]';

/**
 * Reads one completion, streamed or complete. Text is buffered until it is taken, so one read of the socket yields one delta. A class,
 * because an instance is created for every call.
 */
export class CompletionReader {
  /** Created for the first tool call. */
  #calls: ToolCallBuilder | undefined;
  #text = '';
  #reasoning = '';
  #finish: string | undefined;
  #usage: CountedUsage = {};
  #fields: JsonFields | undefined;
  /** Number of chunks with text or tool calls. */
  contentChunks = 0;
  /** Whether the provider has ended the stream. */
  done = false;

  /** Reads one chunk of a stream, or its end marker. Some providers send empty events to keep the connection alive. */
  readChunk(data: string): void {
    if (this.done || data.trim() === '') return;
    if (data === DONE) this.done = true;
    else this.#read(parse(data), 'delta');
  }

  /** Reads a non-streaming completion. */
  readCompletion(data: string): void {
    const completion = parse(data);
    const { choices, message } = completion;
    // Some providers send an error without its usual envelope.
    if (!Array.isArray(choices) && getText(message) !== undefined) throw createFrameError(completion);
    this.#read(completion, 'message');
    this.done = true;
  }

  /** Takes the buffered deltas, reasoning before text. */
  takeDeltas(): Delta[] {
    const deltas: Delta[] = [];
    if (this.#reasoning !== '') deltas.push({ type: 'reasoning', text: this.#reasoning });
    if (this.#text !== '') deltas.push({ type: 'text', text: this.#text });
    this.#reasoning = '';
    this.#text = '';
    return deltas;
  }

  /** Whether the finish reason was received. Only usage and the end marker may follow. */
  get hasFinish(): boolean {
    return this.#finish !== undefined;
  }

  /** Number of buffered characters. */
  get pendingChars(): number {
    return this.#text.length + this.#reasoning.length;
  }

  getEnding(): Ending {
    const calls = this.#calls?.build() ?? [];
    return {
      calls,
      usage: this.#usage,
      ...(this.#finish === undefined ? {} : { finish: this.#finish }),
      ...(this.#fields === undefined ? {} : { fields: this.#fields }),
    };
  }

  #read(completion: JsonFields, part: 'delta' | 'message'): void {
    // Errors are also sent as a stream chunk, or with a success status.
    if (completion['error'] != null) throw createFrameError(completion['error']);
    const counted = completion['usage'] ?? getFields(completion['x_groq'])['usage'];
    if (counted != null) this.#usage = readUsage(counted);
    const { choices } = completion;
    const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
    if (!isJsonObject(choice)) return;
    this.#finish = getText(choice['finish_reason']) ?? this.#finish;
    const message = getFields(choice[part]);
    this.#reasoning += getText(message['reasoning_content']) ?? getText(message['reasoning']) ?? '';
    this.#fields = mergeFields(this.#fields, selectMessageFields(message));
    const { content, tool_calls: calls } = message;
    if (typeof content === 'string') this.#text += content;
    else if (Array.isArray(content)) for (const one of content) this.#readPart(one);
    if (Array.isArray(calls)) (this.#calls ??= createToolCallBuilder()).add(calls);
    if (content || (Array.isArray(calls) && calls.length > 0)) this.contentChunks += 1;
  }

  /** Reads one part of structured content: text or reasoning. */
  #readPart(part: unknown): void {
    const { type, text: message, thinking } = getFields(part);
    if (type === 'text') this.#text += getText(message) ?? '';
    else if (Array.isArray(thinking)) this.#reasoning += thinking.map((one) => getText(getFields(one)['text']) ?? '').join('');
  }
}

function parse(data: string): JsonFields {
  let parsed: unknown;
  try {
    parsed = JSON.parse(data);
  } catch {
    throw new ProtocolError('sent invalid JSON');
  }
  // Google wraps errors in a list.
  if (Array.isArray(parsed)) [parsed] = parsed as unknown[];
  if (!isJsonObject(parsed)) throw new ProtocolError('sent JSON that is not a completion');
  return parsed;
}

/** Reads token counts, including the non-standard names of known providers. */
function readUsage(message: unknown): CountedUsage {
  const usage = getFields(message);
  const details = getFields(usage['prompt_tokens_details']);
  const counted: CountedUsage = {};
  const put = (name: keyof CountedUsage, value: number | undefined): void => {
    if (value !== undefined) counted[name] = value;
  };
  put('input', getAmount(usage['prompt_tokens']));
  put('output', getAmount(usage['completion_tokens']));
  put('cacheRead', getAmount(details['cached_tokens']) ?? getAmount(usage['prompt_cache_hit_tokens']) ?? getAmount(usage['cached_tokens']));
  put('cacheWrite', getAmount(details['cache_write_tokens']) ?? getAmount(usage['cache_creation_input_tokens']));
  put('costUsd', readCost(usage['cost']));
  return counted;
}

/** Reads the cost in USD, given as a number or as an object with a total. */
function readCost(cost: unknown): number | undefined {
  return getAmount(cost) ?? getAmount(getFields(cost)['total_cost']);
}
