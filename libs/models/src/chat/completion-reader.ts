import type { CountedUsage, Ending, Piece } from '../model/adapter.ts';
import { frameError } from '../errors/provider-errors.ts';
import { createCallBuilder, type CallBuilder } from './call-builder.ts';
import { amountOf, isMembers, membersOf, textOf, type Members } from '../http/json-fields.ts';
import { NotTheProtocol } from '../errors/protocol-error.ts';

const DONE = '[DONE]';

/**
 * Reads one completion, chunk by chunk or whole. Text waits until it is taken, so what came together is one piece. A class, because
 * one is made for every call.
 */
export class CompletionReader {
  /** Most answers call nothing. */
  #calls: CallBuilder | undefined;
  #text = '';
  #reasoning = '';
  #finish: string | undefined;
  #usage: CountedUsage = {};
  /** The upstream said that nothing follows. */
  done = false;

  /** One chunk of a stream as it was sent, or its end. */
  chunk(data: string): void {
    if (this.done) return;
    if (data === DONE) this.done = true;
    else this.#read(parse(data), 'delta');
  }

  /** A completion that was not streamed. */
  whole(data: string): void {
    this.#read(parse(data), 'message');
    this.done = true;
  }

  /** What came since it was last asked, reasoning before text. */
  take(): Piece[] {
    const pieces: Piece[] = [];
    if (this.#reasoning !== '') pieces.push({ type: 'reasoning', text: this.#reasoning });
    if (this.#text !== '') pieces.push({ type: 'text', text: this.#text });
    this.#reasoning = '';
    this.#text = '';
    return pieces;
  }

  /** Characters that wait to be taken. */
  get waiting(): number {
    return this.#text.length + this.#reasoning.length;
  }

  ending(): Ending {
    const calls = this.#calls?.built() ?? [];
    return this.#finish === undefined ? { calls, usage: this.#usage } : { finish: this.#finish, calls, usage: this.#usage };
  }

  #read(completion: Members, part: 'delta' | 'message'): void {
    // An error of a stream comes as a chunk of it; that of a whole answer, with a status that says success.
    if (completion['error'] != null) throw frameError(completion['error']);
    const counted = completion['usage'] ?? membersOf(completion['x_groq'])['usage'];
    if (counted != null) this.#usage = readUsage(counted);
    const { choices } = completion;
    const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
    if (!isMembers(choice)) return;
    this.#finish = textOf(choice['finish_reason']) ?? this.#finish;
    const said = membersOf(choice[part]);
    this.#reasoning += textOf(said['reasoning_content']) ?? textOf(said['reasoning']) ?? '';
    const { content, tool_calls: calls } = said;
    if (typeof content === 'string') this.#text += content;
    else if (Array.isArray(content)) for (const one of content) this.#readPart(one);
    if (Array.isArray(calls)) (this.#calls ??= createCallBuilder()).add(calls);
  }

  /** Content in parts, where thinking stands beside text. */
  #readPart(part: unknown): void {
    const { type, text: said, thinking } = membersOf(part);
    if (type === 'text') this.#text += textOf(said) ?? '';
    else if (Array.isArray(thinking)) this.#reasoning += thinking.map((one) => textOf(membersOf(one)['text']) ?? '').join('');
  }
}

function parse(data: string): Members {
  let parsed: unknown;
  try {
    parsed = JSON.parse(data);
  } catch {
    throw new NotTheProtocol('sent what is not JSON');
  }
  if (!isMembers(parsed)) throw new NotTheProtocol('sent JSON that is no completion');
  return parsed;
}

/** What an upstream counted. The names beside the standard ones are those of upstreams that have words of their own for it. */
function readUsage(said: unknown): CountedUsage {
  const usage = membersOf(said);
  const details = membersOf(usage['prompt_tokens_details']);
  const counted: CountedUsage = {};
  const put = (name: keyof CountedUsage, value: number | undefined): void => {
    if (value !== undefined) counted[name] = value;
  };
  put('input', amountOf(usage['prompt_tokens']));
  put('output', amountOf(usage['completion_tokens']));
  put('cacheRead', amountOf(details['cached_tokens']) ?? amountOf(usage['prompt_cache_hit_tokens']) ?? amountOf(usage['cached_tokens']));
  put('cacheWrite', amountOf(details['cache_write_tokens']) ?? amountOf(usage['cache_creation_input_tokens']));
  put('costUsd', costOf(usage['cost']));
  return counted;
}

/** USD, as one number or as the sum of several. */
function costOf(cost: unknown): number | undefined {
  return amountOf(cost) ?? amountOf(membersOf(cost)['total_cost']);
}
