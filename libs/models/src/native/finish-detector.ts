import { createSseParser } from '../chat/sse-parser.ts';
import { getFields, getText } from '../http/json-fields.ts';

/** Detects the finish reason in the events of a native API. */
export interface FinishDetector {
  push(bytes: Buffer): void;
  /** The events that end the stream for the SDK; undefined before the finish reason. */
  readonly closingEvents: string | undefined;
}

/** Most events have no finish reason and are not parsed. A quote inside a text is escaped, so a text cannot match. */
const FINISH = /"(?:stop_reason|finishReason)"\s*:\s*"/;
const MESSAGE_STOP = 'event: message_stop\ndata: {"type":"message_stop"}\n\n';

/** Creates a detector for one stream. An event larger than `maxBytes` throws a RangeError. */
export function createFinishDetector(maxBytes: number): FinishDetector {
  let closingEvents: string | undefined;
  const events = createSseParser(maxBytes, (data) => {
    if (closingEvents === MESSAGE_STOP && parse(data)['type'] === 'message_stop') closingEvents = '';
    else if (FINISH.test(data)) closingEvents ??= findClosingEvents(data);
  });
  return {
    push: (bytes) => events.push(bytes),
    get closingEvents() {
      return closingEvents;
    },
  };
}

function findClosingEvents(data: string): string | undefined {
  const { type, delta, candidates } = parse(data);
  if (type === 'message_delta' && getText(getFields(delta)['stop_reason']) !== undefined) return MESSAGE_STOP;
  const candidate: unknown = Array.isArray(candidates) ? candidates[0] : undefined;
  return getText(getFields(candidate)['finishReason']) === undefined ? undefined : '';
}

function parse(data: string): ReturnType<typeof getFields> {
  try {
    return getFields(JSON.parse(data));
  } catch {
    return {}; // the SDK reports invalid JSON
  }
}
