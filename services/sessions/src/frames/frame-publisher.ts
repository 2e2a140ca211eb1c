import { subjects, type TurnFrame } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import type { Clock } from '@switchyard/service-kit';
import type { ModelRef } from '@switchyard/models';
import type { TurnDocument } from '../model/turn-document.ts';
import { fitting, type FrameBody } from './frame-splitting.ts';
import type { LogShares } from './frame-log-quota.ts';

/** How long a turn may say nothing before a reader hears that it is alive; readers give up after thirty silent seconds. */
const ALIVE_MS = 10_000;

/** Frames of each further run of a turn begin so much later: nobody knows how far the one before came. */
export const FRAMES_A_RUN = 10_000_000;
/** Of who ends a turn without knowing what its runner has said: beyond the frames of all runs that a turn may have. */
export const FRAME_AFTER_ALL = 99 * FRAMES_A_RUN;

/**
 * Numbers the frames of one turn and publishes them in order. Deltas of one tick of the event loop leave as one; where nobody follows,
 * those up to whatever comes next, or is kept, do.
 */
export interface FrameWriter {
  /** Says nothing once the lease is over. */
  push(body: FrameBody): void;
  /** The number the next frame will get, pending deltas counted. */
  next(): number;
  /** The number of the frame that ends the turn, which is the only one to come after this. */
  last(): number;
  /** Says how the turn ended, once that is written: whoever has the lease by then, it ended so. */
  end(body: FrameBody): void;
  close(): void;
}

export interface FrameWriterDeps {
  bus: Pick<Bus, 'publish'>;
  clock: Clock;
  shares: LogShares;
}

/** Whose frames they are, and where they begin. */
export interface Voice {
  tenant: string;
  turnId: string;
  /** The number of the first. */
  from: number;
  /** The lease they are said under; a reader drops those of an earlier one. */
  fence?: number;
  /** Whether that lease still holds; asked before each. */
  held?: () => boolean;
  /** Told of each piece of text that is said. */
  onPiece?: (text: string) => void;
  /** Whether nobody follows now; asked at each delta. */
  quiet?: () => boolean;
}

export function createFrameWriter({ bus, clock, shares }: FrameWriterDeps, voice: Voice): FrameWriter {
  const subject = subjects.turn(voice.turnId);
  const said = voice.fence === undefined ? {} : { fence: voice.fence };
  let n = voice.from;
  let pending = '';
  let scheduled = false;
  let lastAt = clock.now();

  const write = (body: FrameBody, anyway = false): void => {
    lastAt = clock.now();
    for (const part of fitting(body)) {
      const frame = { n: n++, ...said, ...part } satisfies TurnFrame;
      if (part.type === 'delta') voice.onPiece?.(part.text);
      if (!anyway && voice.held?.() === false) continue;
      const data = Buffer.from(JSON.stringify(frame));
      // Whoever listens hears all of it; whoever comes back gets from the turn's document what the log has no room for.
      bus.publish(subject, data, { ephemeral: !shares.keeps(voice.tenant, subject.length + data.length) });
    }
  };
  const flush = (): void => {
    scheduled = false;
    if (pending === '') return;
    const text = pending;
    pending = '';
    write({ type: 'delta', text });
  };
  const stopAlive = clock.every(ALIVE_MS / 2, () => {
    if (clock.now() - lastAt >= ALIVE_MS) write({ type: 'alive' });
  });

  return {
    push(body) {
      if (body.type !== 'delta') {
        flush();
        write(body);
        return;
      }
      pending += body.text;
      if (scheduled || voice.quiet?.() === true) return;
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

/** The first frame of a turn: it is written, and this is who answers. */
export function acceptedFrame({ turnId, sessionKey, agentId }: TurnDocument, model: ModelRef): FrameBody {
  return { type: 'accepted', turnId, sessionKey, agentId, model: `${model.provider}/${model.modelId}` };
}
