import { subjects, type TurnFrame } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import type { Clock } from '@switchyard/service-kit';
import type { ModelRef } from '@switchyard/models';
import type { TurnDocument } from '../model/turn-document.ts';
import { splitFrame, type FrameBody } from './frame-splitting.ts';
import type { FrameLogQuota } from './frame-log-quota.ts';

/** Interval of alive frames during silence. Readers give up after thirty seconds without a frame. */
const ALIVE_INTERVAL_MS = 10_000;

/** Frame numbers of each further run start at this distance, because it is unknown how far the previous run came. */
export const FRAMES_PER_RUN = 10_000_000;
/** Frame number for an end written by another process than the runner, above the frames of all runs. */
export const FINAL_FRAME = 99 * FRAMES_PER_RUN;

/**
 * Numbers the frames of one turn and publishes them in order. Text of one event loop tick is combined into one frame; without readers, all
 * text up to the next other frame or checkpoint is.
 */
export interface FrameWriter {
  /** Publishes nothing after the lease is lost. */
  push(body: FrameBody): void;
  /** Flushes pending text and returns the next frame number. */
  next(): number;
  /** Returns the number of the final frame. Only `end` may follow. */
  last(): number;
  /** Publishes the end of the turn. It is already committed, so the lease is not checked. */
  end(body: FrameBody): void;
  close(): void;
}

export interface FrameWriterDeps {
  bus: Pick<Bus, 'publish'>;
  clock: Clock;
  shares: FrameLogQuota;
}

/** Turn of the frames, and first number. */
export interface FrameWriterOptions {
  tenant: string;
  turnId: string;
  /** First frame number. */
  from: number;
  /** Lease fence. Readers drop frames with a lower fence. */
  fence?: number;
  /** Returns whether the lease is still held. Checked before each frame. */
  isLeaseHeld?: () => boolean;
  /** Called for each published text piece. */
  onPiece?: (text: string) => void;
  /** Returns whether no reader follows the turn. Checked for each text piece. */
  isUnfollowed?: () => boolean;
}

export function createFrameWriter({ bus, clock, shares }: FrameWriterDeps, voice: FrameWriterOptions): FrameWriter {
  const subject = subjects.turn(voice.turnId);
  const fenceField = voice.fence === undefined ? {} : { fence: voice.fence };
  let n = voice.from;
  let pending = '';
  let scheduled = false;
  let lastAt = clock.now();

  const write = (body: FrameBody, force = false): void => {
    lastAt = clock.now();
    for (const part of splitFrame(body)) {
      const frame = { n: n++, ...fenceField, ...part } satisfies TurnFrame;
      if (part.type === 'delta') voice.onPiece?.(part.text);
      if (!force && voice.isLeaseHeld?.() === false) continue;
      const data = Buffer.from(JSON.stringify(frame));
      // Subscribers receive every frame. Frames beyond the quota are not stored; returning readers get the rest from the turn document.
      bus.publish(subject, data, { ephemeral: !shares.admit(voice.tenant, subject.length + data.length) });
    }
  };
  const flush = (): void => {
    scheduled = false;
    if (pending === '') return;
    const text = pending;
    pending = '';
    write({ type: 'delta', text });
  };
  const stopAlive = clock.every(ALIVE_INTERVAL_MS / 2, () => {
    if (clock.now() - lastAt >= ALIVE_INTERVAL_MS) write({ type: 'alive' });
  });

  return {
    push(body) {
      if (body.type !== 'delta') {
        flush();
        write(body);
        return;
      }
      pending += body.text;
      if (scheduled || voice.isUnfollowed?.() === true) return;
      clock.soon(flush);
      scheduled = true;
    },
    next() {
      flush();
      return n;
    },
    last() {
      flush();
      stopAlive();
      return n;
    },
    end(body) {
      flush();
      write(body, true);
    },
    close() {
      flush();
      stopAlive();
    },
  };
}

/** First frame of a turn: acceptance, agent and model. */
export function acceptedFrame({ turnId, sessionKey, agentId }: TurnDocument, model: ModelRef): FrameBody {
  return { type: 'accepted', turnId, sessionKey, agentId, model: `${model.provider}/${model.modelId}` };
}
