import type { IncomingHttpHeaders } from 'node:http';
import type { CompletionReader } from './completion-reader.ts';
import { createSseParser } from './sse-parser.ts';
import { createErrorBody, type Body } from '../http/error-body.ts';
import { ProtocolError } from '../errors/protocol-error.ts';

const MAX_EVENT_BYTES = 4 * 1024 * 1024;
const MAX_WORD = 100;

export interface ResponseHead {
  status: number;
  statusText: string;
  headers: IncomingHttpHeaders;
  /** Whether a non-streaming response was requested. */
  nonStreaming: boolean;
  completion: CompletionReader;
}

/** Selects a reader by status and content type. Some providers stream without being asked, or do not stream. Throws for other content types. */
export function createBody(head: ResponseHead): Body {
  const { status, headers, nonStreaming, completion } = head;
  if (status >= 300) return createErrorBody(head);
  const { 'content-encoding': encoding = 'identity', 'content-type': type = '' } = headers;
  if (encoding !== 'identity') throw new ProtocolError(`responded with the unsupported encoding ${shorten(encoding)}`);
  if (/^text\/html\b/i.test(type)) throw new ProtocolError(`sent no completion: the content type is ${shorten(type)}`);
  if (/^application\/json\b/i.test(type) || (nonStreaming && !/^text\/event-stream\b/i.test(type))) return createJsonBody(completion);
  return createDetectedBody(completion);
}

const FIRST_JSON_BYTES = new Set(['{', '['].map((char) => char.charCodeAt(0)));
const BLANK_BYTES = new Set(Array.from(' \t\r\n', (char) => char.charCodeAt(0)));

/** Creates a stream reader, or a JSON reader if the body starts like JSON. Proxies send JSON errors with the content type of a stream. */
function createDetectedBody(completion: CompletionReader): Body {
  let body: Body | undefined;
  return {
    isError: false,
    push(bytes) {
      if (body === undefined) {
        const first = bytes.find((byte) => !BLANK_BYTES.has(byte));
        if (first === undefined) return;
        body = FIRST_JSON_BYTES.has(first) ? createJsonBody(completion) : createStreamBody(completion);
      }
      body.push(bytes);
    },
    end: () => body?.end(),
  };
}

function createStreamBody(completion: CompletionReader): Body {
  const events = createSseParser(MAX_EVENT_BYTES, (data) => completion.readChunk(data));
  return {
    isError: false,
    push(bytes) {
      try {
        events.push(bytes);
      } catch (error) {
        throw error instanceof RangeError ? new ProtocolError(`sent ${error.message}`) : error;
      }
    },
    end: () => events.end(),
  };
}

function createJsonBody(completion: CompletionReader): Body {
  const parts: Buffer[] = [];
  return {
    isError: false,
    push: (bytes) => void parts.push(bytes),
    end: () => completion.readCompletion(Buffer.concat(parts).toString('utf8')),
  };
}

function shorten(text: string): string {
  return text.slice(0, MAX_WORD);
}
