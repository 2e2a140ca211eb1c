import type { Documents } from '@switchyard/store';
import { type MergedMessage, type TurnDocument, hasEnded } from '../../model/turn-document.ts';
import { storeText } from '../../model/stored-text.ts';
import { storeCheckpoint, type CheckpointEntry } from '../../model/checkpoint-log.ts';
import type { TurnRunDeps, TurnRun } from './turn-run.ts';
import { emitStreamingEvent } from './message-streaming.ts';
import { writeCheckpoint, turnEndedElsewhere, isFenced, isEndedElsewhere, type CheckpointOptions } from '../store/turn-store.ts';

/** Maximum age of text that is not checkpointed. Checkpoints serve readers whose frames are no longer in the log. */
const TEXT_INTERVAL_MS = 1_000;

/** Writes checkpoints and text of a running turn to its document. */
export interface TurnRecorder {
  /** Writes a checkpoint before the run continues. */
  checkpoint: (mark: CheckpointEntry) => Promise<void>;
  /** Records merged messages before the model receives them. */
  recordMerged: (others: readonly MergedMessage[]) => Promise<void>;
  /** Adds model output, to be checkpointed later. */
  appendText: (text: string) => void;
  /** Stops writing and waits for pending writes. */
  close: () => Promise<void>;
}

/** A silent turn checks its document every third interval, because a message about its end may be lost. */
const CHECK_EVERY = 3;

/** Maximum characters of a text piece stored inline. */
const MAX_INLINE_CHARS = 512;

export function createTurnRecorder(deps: TurnRunDeps, options: Pick<TurnRun, 'lease' | 'turn' | 'frames' | 'stop'>): TurnRecorder {
  const { clock, store, log } = deps;
  const { lease, turn, frames } = options;
  const { turnId } = turn;
  const turns: Documents<TurnDocument> = deps.turns.for(lease);
  const bodies = deps.bodies.for(lease);
  let current = turn;
  /** Output of the current step, and how much of it is checkpointed. */
  let text = '';
  let storedChars = 0;
  let last: Promise<unknown> = Promise.resolve();
  let closed = false;
  let silentIntervals = 0;

  /** Writes sequentially, because each checkpoint contains the number of checkpoints before it. */
  function enqueueWrite(work: () => Promise<void>): Promise<void> {
    const next = last.then(work);
    last = next.catch(() => undefined);
    return next;
  }

  async function write(frame: number, what: Pick<CheckpointOptions, 'entry' | 'text' | 'joined' | 'parked'>): Promise<void> {
    const started = current.attempts === 0 ? { started: { at: store.now() } } : {};
    const written = { turnId, fence: lease.fence, after: current.checkpoints, frame, ...what, ...started };
    current = await lease.retryWrite(() => writeCheckpoint(turns, written));
  }

  async function flushText(): Promise<void> {
    const [piece, frame] = [text.slice(storedChars), frames.next()];
    if (piece === '') return current.state === 'running' ? undefined : write(frame, {});
    const content = await lease.retryWrite(() => storeText(bodies, turnId, piece, MAX_INLINE_CHARS));
    await write(frame, { text: content });
    storedChars += piece.length;
    emitStreamingEvent(deps.bus, lease.tenant, turn, { delta: piece, accumulated: text.slice(0, storedChars) });
  }

  async function checkEnded(): Promise<void> {
    const now = await turns.get(turnId);
    if (now && hasEnded(now)) throw turnEndedElsewhere();
  }

  const stop = clock.every(TEXT_INTERVAL_MS, () => {
    if (closed) return;
    // Also written at the start, so that the document shows the turn as running.
    const news = text.length > storedChars || current.state !== 'running';
    silentIntervals = news ? 0 : silentIntervals + 1;
    if (!news && silentIntervals % CHECK_EVERY !== 0) return;
    enqueueWrite(news ? flushText : checkEnded).catch((err: unknown) => {
      if (isEndedElsewhere(err)) options.stop();
      else if (isFenced(err)) lease.markLost();
      else
        log.warn(
          { turnId, err, errorKind: 'dependency', hint: 'returning readers may have to wait for the end of the turn' },
          'failed to checkpoint turn text',
        );
    });
  });

  return {
    checkpoint: (mark) =>
      enqueueWrite(async () => {
        const frame = frames.next();
        const parked = mark.mark === 'parked' ? { requestId: mark.requestId, until: mark.until, at: store.now() } : undefined;
        await write(frame, { entry: await lease.retryWrite(() => storeCheckpoint(bodies, turnId, mark)), ...(parked && { parked }) });
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
