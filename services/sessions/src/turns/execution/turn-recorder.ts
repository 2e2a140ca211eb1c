import type { Documents } from '@switchyard/store';
import { type MergedMessage, type TurnDocument, hasEnded } from '../../model/turn-document.ts';
import { storeText } from '../../model/stored-text.ts';
import { storeCheckpoint, type CheckpointEntry } from '../../model/checkpoint-log.ts';
import type { TurnRunDeps, TurnRun } from './turn-run.ts';
import { emitStreamingEvent } from './message-streaming.ts';
import { writeCheckpoint, turnEndedElsewhere, isFenced, isEndedElsewhere, type CheckpointOptions } from '../store/turn-store.ts';

/** How old what a turn has said may be before it is kept, for readers whom the log of frames has lost. */
const TEXT_INTERVAL_MS = 1_000;

/** What a turn does and says, kept in its document as it happens. */
export interface TurnRecorder {
  /** Keeps a mark before anything follows from it. */
  checkpoint: (mark: CheckpointEntry) => Promise<void>;
  /** Keeps that the turn has heard others, before its model is told what they say. */
  recordMerged: (others: readonly MergedMessage[]) => Promise<void>;
  /** The model said something. */
  appendText: (text: string) => void;
  /** Keeps nothing more, and waits for what is being kept. */
  close: () => Promise<void>;
}

/** As many looks at a turn that says nothing as one at its document: somebody may have ended it whose word was lost. */
const CHECK_EVERY = 3;

/** Characters of a piece that stand in the turn's document. */
const MAX_INLINE_CHARS = 512;

export function createTurnRecorder(deps: TurnRunDeps, given: Pick<TurnRun, 'lease' | 'turn' | 'frames' | 'stop'>): TurnRecorder {
  const { clock, store, log } = deps;
  const { lease, turn, frames } = given;
  const { turnId } = turn;
  const turns: Documents<TurnDocument> = deps.turns.for(lease);
  const bodies = deps.bodies.for(lease);
  let current = turn;
  /** What the model has said in this step, and how much of it is kept. */
  let text = '';
  let storedChars = 0;
  let last: Promise<unknown> = Promise.resolve();
  let closed = false;
  let silentIntervals = 0;

  /** One after the other: each says how many there were before it. */
  function enqueueWrite(work: () => Promise<void>): Promise<void> {
    const next = last.then(work);
    last = next.catch(() => undefined);
    return next;
  }

  async function write(frame: number, what: Pick<CheckpointOptions, 'entry' | 'text' | 'joined'>): Promise<void> {
    const started = current.attempts === 0 ? { started: { at: store.now() } } : {};
    const written = { turnId, fence: lease.fence, after: current.checkpoints, frame, ...what, ...started };
    current = await lease.retryWrite(() => writeCheckpoint(turns, written));
  }

  async function flushText(): Promise<void> {
    const [piece, frame] = [text.slice(storedChars), frames.next()];
    if (piece === '') return current.state === 'running' ? undefined : write(frame, {});
    const said = await lease.retryWrite(() => storeText(bodies, turnId, piece, MAX_INLINE_CHARS));
    await write(frame, { text: said });
    storedChars += piece.length;
    emitStreamingEvent(deps.bus, lease.tenant, turn, { delta: piece, accumulated: text.slice(0, storedChars) });
  }

  async function checkEnded(): Promise<void> {
    const now = await turns.get(turnId);
    if (now && hasEnded(now)) throw turnEndedElsewhere();
  }

  const stop = clock.every(TEXT_INTERVAL_MS, () => {
    if (closed) return;
    // Also once at first, so that whoever asks is told that it runs.
    const news = text.length > storedChars || current.state !== 'running';
    silentIntervals = news ? 0 : silentIntervals + 1;
    if (!news && silentIntervals % CHECK_EVERY !== 0) return;
    enqueueWrite(news ? flushText : checkEnded).catch((err: unknown) => {
      if (isEndedElsewhere(err)) given.stop();
      else if (isFenced(err)) lease.markLost();
      else log.warn({ turnId, err, errorKind: 'dependency', hint: 'who comes back may have to wait for the end' }, 'text not kept');
    });
  });

  return {
    checkpoint: (mark) =>
      enqueueWrite(async () => {
        const frame = frames.next();
        await write(frame, { entry: await lease.retryWrite(() => storeCheckpoint(bodies, turnId, mark)) });
        [text, storedChars] = ['', 0];
      }),
    recordMerged: (others) =>
      enqueueWrite(() =>
        write(frames.next(), {
          entry: { mark: 'heard', count: others.length } satisfies CheckpointEntry,
          joined: [...(current.merged ?? []), ...others],
        }),
      ),
    appendText: (piece) => void (text += piece),
    async close() {
      closed = true;
      stop();
      await last;
    },
  };
}
