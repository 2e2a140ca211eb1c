import { subjects, type TurnFrame } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import type { Clock } from '@switchyard/service-kit';
import type { ModelRef } from '@switchyard/models';
import type { TurnDocument } from '../model/turn-document.ts';
import { splitFrame, type FrameBody } from './frame-splitting.ts';
import type { FrameLogQuota } from './frame-log-quota.ts';

/** How long a turn may say nothing before a reader hears that it is alive; readers give up after thirty silent seconds. */
const ALIVE_INTERVAL_MS = 10_000;

/** Frames of each further run of a turn begin so much later: nobody knows how far the one before came. */
export const FRAMES_PER_RUN = 10_000_000;
/** Of who ends a turn without knowing what its runner has said: beyond the frames of all runs that a turn may have. */
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

/** Whose frames they are, and where they begin. */
export interface FrameWriterOptions {
  tenant: string;
  turnId: string;
  /** First frame number. */
  from: number;
  /** Lease fence. Readers drop frames with a lower fence. */
  fence?: number;
  /** Whether that lease still holds; asked before each. */
  isLeaseHeld?: () => boolean;
  /** Told of each piece of text that is said. */
  onPiece?: (text: string) => void;
  /** Whether nobody follows now; asked at each delta. */
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
      // Whoever listens hears all of it; whoever comes back gets from the turn's document what the log has no room for.
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
