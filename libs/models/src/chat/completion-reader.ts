import type { CountedUsage, Ending, Piece } from '../adapter.ts';
import { frameError } from '../failure.ts';
import { createCallBuilder } from './call-builder.ts';
import { isMembers, membersOf, textOf, type Members } from './members.ts';
import { NotTheProtocol } from './not-the-protocol.ts';
import { readUsage } from './read-usage.ts';

const DONE = '[DONE]';

/** Reads one completion, chunk by chunk or whole. Text waits until it is taken, so what came together is one piece. */
export interface CompletionReader {
  /** One chunk of a stream as it was sent, or its end. */
  chunk(data: string): void;
  /** A completion that was not streamed. */
  whole(data: string): void;
  /** What came since it was last asked, reasoning before text. */
  take(): Piece[];
  /** Characters that wait to be taken. */
  readonly waiting: number;
  /** The upstream said that nothing follows. */
  readonly done: boolean;
  ending(): Ending;
}

export function createCompletionReader(): CompletionReader {
  const calls = createCallBuilder();
  let text = '';
  let reasoning = '';
  let finish: string | undefined;
  let usage: CountedUsage = {};
  let done = false;

  function read(completion: Members, part: 'delta' | 'message'): void {
    // An error of a stream comes as a chunk of it; that of a whole answer, with a status that says success.
    if (completion['error'] != null) throw frameError(completion['error']);
    const counted = completion['usage'] ?? membersOf(completion['x_groq'])['usage'];
    if (counted != null) usage = readUsage(counted);
    const { choices } = completion;
    const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
    if (!isMembers(choice)) return;
    finish = textOf(choice['finish_reason']) ?? finish;
    const said = membersOf(choice[part]);
    reasoning += textOf(said['reasoning_content']) ?? textOf(said['reasoning']) ?? '';
    const { content } = said;
    if (typeof content === 'string') text += content;
    else if (Array.isArray(content)) content.forEach(readPart);
    calls.add(said['tool_calls']);
  }

  /** Content in parts, where thinking stands beside text. */
  function readPart(part: unknown): void {
    const { type, text: said, thinking } = membersOf(part);
    if (type === 'text') text += textOf(said) ?? '';
    else if (Array.isArray(thinking)) reasoning += thinking.map((one) => textOf(membersOf(one)['text']) ?? '').join('');
  }

  return {
    chunk(data) {
      if (done) return;
      if (data === DONE) done = true;
      else read(parse(data), 'delta');
    },
    whole(data) {
      read(parse(data), 'message');
      done = true;
    },
    take() {
      const pieces: Piece[] = [];
      if (reasoning !== '') pieces.push({ type: 'reasoning', text: reasoning });
      if (text !== '') pieces.push({ type: 'text', text });
      reasoning = '';
      text = '';
      return pieces;
    },
    get waiting() {
      return text.length + reasoning.length;
    },
    get done() {
      return done;
    },
    ending: () => ({ ...(finish === undefined ? {} : { finish }), calls: calls.built(), usage }),
  };
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
