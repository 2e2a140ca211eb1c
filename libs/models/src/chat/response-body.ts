import type { IncomingHttpHeaders } from 'node:http';
import { UpstreamError } from '../errors/upstream-error.ts';
import type { CompletionReader } from './completion-reader.ts';
import { createEventReader } from './sse-parser.ts';
import { isMembers, membersOf, textOf } from '../http/json-fields.ts';
import { NotTheProtocol } from '../errors/protocol-error.ts';

const MAX_EVENT_BYTES = 4 * 1024 * 1024;
/** What is read of a refusal; more of it says no more. */
const MAX_REFUSAL_BYTES = 64 * 1024;
const MAX_WORD = 100;

/** Reads the body of one response. Both throw what is wrong with it. */
export interface Body {
  /** Whether it says why there is no completion. */
  readonly refusal: boolean;
  push(bytes: Buffer): void;
  end(): void;
}

export interface Head {
  status: number;
  statusText: string;
  headers: IncomingHttpHeaders;
  /** Whether the answer was asked for in one piece. */
  whole: boolean;
  completion: CompletionReader;
}

/** An upstream says by its content type whether it streams; some do so unasked. Throws for what is neither way. */
export function createBody(head: Head): Body {
  const { status, headers, whole, completion } = head;
  if (status >= 300) return refusalBody(head);
  const { 'content-encoding': encoding = 'identity', 'content-type': type = '' } = headers;
  if (encoding !== 'identity') throw new NotTheProtocol(`answered in ${word(encoding)}, which was not asked for`);
  if (whole && !/^text\/(event-stream|html)\b/i.test(type)) return wholeBody(completion);
  if (/^(application\/json|text\/html)\b/i.test(type)) {
    throw new NotTheProtocol(`${whole ? 'answers with no completion' : 'does not stream'}: it answered ${word(type)}`);
  }
  return eventsBody(completion);
}

function eventsBody(completion: CompletionReader): Body {
  const events = createEventReader(MAX_EVENT_BYTES, (data) => completion.chunk(data));
  return {
    refusal: false,
    push(bytes) {
      try {
        events.push(bytes);
      } catch (error) {
        throw error instanceof RangeError ? new NotTheProtocol(`sent ${error.message}`) : error;
      }
    },
    end: () => events.end(),
  };
}

function wholeBody(completion: CompletionReader): Body {
  const parts: Buffer[] = [];
  return {
    refusal: false,
    push: (bytes) => void parts.push(bytes),
    end: () => completion.whole(Buffer.concat(parts).toString('utf8')),
  };
}

/** Reads why there is no answer, and throws it at the end. */
export function refusalBody({ status, statusText, headers }: Pick<Head, 'status' | 'statusText' | 'headers'>): Body {
  const parts: Buffer[] = [];
  let left = MAX_REFUSAL_BYTES;
  return {
    refusal: true,
    push(bytes) {
      if (left > 0) parts.push(bytes.subarray(0, left));
      left -= bytes.length;
    },
    end() {
      const { message, code } = readRefusal(Buffer.concat(parts).toString('utf8'));
      throw new UpstreamError(message ?? textOf(statusText) ?? `status ${status}`, {
        status,
        headers: single(headers),
        ...(code === undefined ? {} : { code }),
      });
    },
  };
}

/** Every upstream has its own form for why it refuses; what is no JSON is a page for people. */
function readRefusal(body: string): { message: string | undefined; code: string | undefined } {
  const said = parsed(body);
  const refusal = membersOf(Array.isArray(said) ? said[0] : said);
  const inner = refusal['error'];
  const error = isMembers(inner) ? inner : refusal;
  return {
    message: textOf(error['message']) ?? textOf(inner) ?? textOf(refusal['message']) ?? textOf(refusal['detail']),
    code: textOf(error['code']) ?? textOf(error['type']),
  };
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function single(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? (value[0] ?? '') : (value ?? '')]),
  );
}

function word(text: string): string {
  return text.slice(0, MAX_WORD);
}
