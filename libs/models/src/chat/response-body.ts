import type { IncomingHttpHeaders } from 'node:http';
import type { CompletionReader } from './completion-reader.ts';
import { createEventReader } from './sse-parser.ts';
import { errorBody, type Body } from '../http/error-body.ts';
import { NotTheProtocol } from '../errors/protocol-error.ts';

const MAX_EVENT_BYTES = 4 * 1024 * 1024;
const MAX_WORD = 100;

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
  if (status >= 300) return errorBody(head);
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

function word(text: string): string {
  return text.slice(0, MAX_WORD);
}
