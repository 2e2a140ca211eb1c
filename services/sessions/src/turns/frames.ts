import { subjects, type TurnFrame } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import type { ModelRef } from '@switchyard/models';
import type { TurnDocument } from '../data.ts';
import type { FrameBody } from './loop.ts';

/** How long a turn may say nothing before a reader hears that it is alive; readers give up after thirty silent seconds. */
const ALIVE_MS = 10_000;

/** Numbers the frames of one turn and publishes them in order. Deltas of one tick of the event loop leave as one. */
export interface FrameWriter {
  push(body: FrameBody): void;
  /** The number the next frame will get, pending deltas counted. */
  next(): number;
  /** The number of the frame that ends the turn, which is the only one to come after this. */
  last(): number;
  close(): void;
}

export function createFrameWriter(bus: Bus, turnId: string, from: number): FrameWriter {
  const subject = subjects.turn(turnId);
  let n = from;
  let pending = '';
  let scheduled: NodeJS.Immediate | undefined;
  let lastAt = Date.now();

  const write = (body: FrameBody): void => {
    lastAt = Date.now();
    bus.publish(subject, Buffer.from(JSON.stringify({ n: n++, ...body } satisfies TurnFrame)));
  };
  const flush = (): void => {
    if (scheduled) clearImmediate(scheduled);
    scheduled = undefined;
    if (pending === '') return;
    const text = pending;
    pending = '';
    write({ type: 'delta', text });
  };
  const alive = setInterval(() => {
    if (Date.now() - lastAt >= ALIVE_MS) write({ type: 'alive' });
  }, ALIVE_MS / 2);
  alive.unref();

  return {
    push(body) {
      if (body.type !== 'delta') {
        flush();
        write(body);
        return;
      }
      pending += body.text;
      scheduled ??= setImmediate(flush);
    },
    next() {
      flush();
      return n;
    },
    last() {
      flush();
      clearInterval(alive);
      return n;
    },
    close() {
      flush();
      clearInterval(alive);
    },
  };
}

/** The first frame of a turn: it is written, and this is who answers. */
export function acceptedFrame({ turnId, sessionKey, agentId }: TurnDocument, model: ModelRef): FrameBody {
  return { type: 'accepted', turnId, sessionKey, agentId, model: `${model.provider}/${model.modelId}` };
}
