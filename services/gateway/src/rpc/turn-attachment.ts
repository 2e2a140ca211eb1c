import type { Bus, Reply } from '@switchyard/bus';
import { parseParams, publicMethods, ServiceError, type Input, type Params, type Result, type TurnFrame } from '@switchyard/contracts';
import { failureError } from '../turns/turn-errors.ts';
import { joinTurn } from '../turns/turn-start.ts';
import type { Answer } from '../http/payload.ts';
import type { Cancel, Origin } from './call-context.ts';

export const ATTACH = 'agent.attach';

interface Following {
  from: Origin;
  notify: (notification: Answer) => void;
  onReply: (reply: Reply) => void;
}

/**
 * Follows a turn for a connection: its frames as notifications, then the answer. A connection that is lost is followed by another
 * one, at any gateway, which says how far it came. Nothing of a turn that is not the caller's own.
 */
export function attach(bus: Bus, params: Uint8Array, { from, notify, onReply }: Following): Cancel {
  let close: Cancel | undefined;
  let left = false;
  const fail = (error: unknown): void => {
    if (left) return;
    const known = error instanceof ServiceError ? error : new ServiceError('INTERNAL', 'Internal error', { cause: error });
    onReply({ error: known });
  };
  const follow = async (): Promise<void> => {
    const { turnId, after = -1 } = readParams(params);
    const { requestId, traceparent, caller } = from;
    const speaking = bus.as(caller.principal);
    const { reader, earlier } = await joinTurn(speaking, turnId, { requestId, ...(traceparent === undefined ? {} : { traceparent }) });
    close = () => reader.close();
    if (left) return close();
    const say = (frame: TurnFrame): void => {
      if (frame.type === 'error') fail(failureError(frame.error));
      else if (frame.type === 'done') onReply(answerOf({ turnId, sessionKey: earlier.sessionKey, ...frame.result }));
      else if (frame.n > after) notify(notification(turnId, frame));
    };
    reader.read({ frames: (frames) => frames.forEach(say), lost: fail }, earlier);
  };
  follow().catch(fail);
  return () => {
    left = true;
    close?.();
  };
}

function readParams(params: Uint8Array): Input<typeof ATTACH> {
  const schema = publicMethods.get(ATTACH)?.spec.params;
  if (!schema) throw new TypeError(`${ATTACH} is not declared`);
  return parseParams(schema, JSON.parse(Buffer.from(params).toString()) as Params<typeof ATTACH>) as Input<typeof ATTACH>;
}

/** What is nobody's concern but ours stays here. */
function notification(turnId: string, { fence: _fence, ...frame }: TurnFrame): Answer {
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'agent.frame', params: { turnId, frame } }));
}

function answerOf({ turnId, sessionKey, response, tokensUsed, finishReason }: Result<typeof ATTACH>): Reply {
  return { data: Buffer.from(JSON.stringify({ response, tokensUsed, finishReason, sessionKey, turnId })) };
}
