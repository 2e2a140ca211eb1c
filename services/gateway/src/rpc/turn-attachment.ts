import type { Bus, Reply } from '@switchyard/bus';
import { parseParams, publicMethods, ServiceError, type Input, type Params, type Result, type TurnFrame } from '@switchyard/contracts';
import { toServiceError } from '../turns/turn-errors.ts';
import { followTurn } from '../turns/turn-start.ts';
import type { Payload } from '../http/payload.ts';
import type { Cancel, CallOrigin } from './call-context.ts';

export const ATTACH_METHOD = 'agent.attach';

interface AttachOptions {
  origin: CallOrigin;
  notify: (notification: Payload) => void;
  onReply: (reply: Reply) => void;
}

/**
 * `agent.attach`: sends the frames of a turn as notifications and then its result. After a lost connection a client attaches again on any
 * gateway and names the last frame it received. A turn of another client is NOT_FOUND.
 */
export function attachTurn(bus: Bus, params: Uint8Array, { origin, notify, onReply }: AttachOptions): Cancel {
  let close: Cancel | undefined;
  let cancelled = false;
  const fail = (error: unknown): void => {
    if (cancelled) return;
    const serviceError = error instanceof ServiceError ? error : new ServiceError('INTERNAL', 'Internal error', { cause: error });
    onReply({ error: serviceError });
  };
  const follow = async (): Promise<void> => {
    const { turnId, after = -1 } = readParams(params);
    const { requestId, traceparent, caller } = origin;
    const callerBus = bus.as(caller.principal);
    const { reader, earlier } = await followTurn(callerBus, turnId, { requestId, ...(traceparent === undefined ? {} : { traceparent }) });
    close = () => reader.close();
    if (cancelled) return close();
    const sendFrame = (frame: TurnFrame): void => {
      if (frame.type === 'error') fail(toServiceError(frame.error));
      else if (frame.type === 'done') onReply(createReply({ turnId, sessionKey: earlier.sessionKey, ...frame.result }));
      else if (frame.n > after) notify(createNotification(turnId, frame));
    };
    reader.read({ frames: (frames) => frames.forEach(sendFrame), lost: fail }, earlier);
  };
  follow().catch(fail);
  return () => {
    cancelled = true;
    close?.();
  };
}

function readParams(params: Uint8Array): Input<typeof ATTACH_METHOD> {
  const schema = publicMethods.get(ATTACH_METHOD)?.spec.params;
  if (!schema) throw new TypeError(`${ATTACH_METHOD} is not declared`);
  return parseParams(schema, JSON.parse(Buffer.from(params).toString()) as Params<typeof ATTACH_METHOD>) as Input<typeof ATTACH_METHOD>;
}

/** Omits the internal fence of a frame. */
function createNotification(turnId: string, { fence: _fence, ...frame }: TurnFrame): Payload {
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'agent.frame', params: { turnId, frame } }));
}

function createReply({ turnId, sessionKey, response, tokensUsed, finishReason }: Result<typeof ATTACH_METHOD>): Reply {
  return { data: Buffer.from(JSON.stringify({ response, tokensUsed, finishReason, sessionKey, turnId })) };
}
