import type { Documents } from '@switchyard/store';
import { type Heard, type TurnDocument, hasEnded } from '../../model/turn-document.ts';
import { keep } from '../../model/stored-text.ts';
import { keepMark, type Mark } from '../../model/checkpoint-log.ts';
import type { RunDeps, RunGiven } from './turn-run.ts';
import { tellPiece } from './message-streaming.ts';
import { checkpoint, endedMeanwhile, isFenced, wasEnded, type Checkpoint } from '../store/turn-store.ts';

/** Maximum age of text that is not checkpointed. Checkpoints serve readers whose frames are no longer in the log. */
const TEXT_MS = 1_000;

/** Writes checkpoints and text of a running turn to its document. */
export interface Record {
  /** Writes a checkpoint before the run continues. */
  note: (mark: Mark) => Promise<void>;
  /** Records merged messages before the model receives them. */
  join: (others: readonly Heard[]) => Promise<void>;
  /** Adds model output, to be checkpointed later. */
  heard: (text: string) => void;
  /** Stops writing and waits for pending writes. */
  close: () => Promise<void>;
}

/** A silent turn checks its document every third interval, because a message about its end may be lost. */
const LOOKS = 3;

/** Maximum characters of a text piece stored inline. */
const PIECE_CHARS = 512;

export function openRecord(deps: RunDeps, given: Pick<RunGiven, 'hold' | 'turn' | 'frames' | 'stop'>): Record {
  const { clock, store, log } = deps;
  const { hold, turn, frames } = given;
  const { turnId } = turn;
  const turns: Documents<TurnDocument> = deps.turns.for(hold);
  const bodies = deps.bodies.for(hold);
  let there = turn;
  /** Output of the current step, and how much of it is checkpointed. */
  let text = '';
  let kept = 0;
  let last: Promise<unknown> = Promise.resolve();
  let closed = false;
  let silent = 0;

  /** Writes sequentially, because each checkpoint contains the number of checkpoints before it. */
  function inOrder(work: () => Promise<void>): Promise<void> {
    const next = last.then(work);
    last = next.catch(() => undefined);
    return next;
  }

  async function write(frame: number, what: Pick<Checkpoint, 'mark' | 'piece' | 'joined'>): Promise<void> {
    const begun = there.attempts === 0 ? { begun: { at: store.now() } } : {};
    const written = { turnId, fence: hold.fence, after: there.checkpoints, frame, ...what, ...begun };
    there = await hold.persist(() => checkpoint(turns, written));
  }

  async function keepText(): Promise<void> {
    const [piece, frame] = [text.slice(kept), frames.next()];
    if (piece === '') return there.state === 'running' ? undefined : write(frame, {});
    const said = await hold.persist(() => keep(bodies, turnId, piece, PIECE_CHARS));
    await write(frame, { piece: said });
    kept += piece.length;
    tellPiece(deps.bus, hold.tenant, turn, { delta: piece, accumulated: text.slice(0, kept) });
  }

  async function lookAtIt(): Promise<void> {
    const now = await turns.get(turnId);
    if (now && hasEnded(now)) throw endedMeanwhile();
  }

  const stop = clock.every(TEXT_MS, () => {
    if (closed) return;
    // Also written at the start, so that the document shows the turn as running.
    const news = text.length > kept || there.state !== 'running';
    silent = news ? 0 : silent + 1;
    if (!news && silent % LOOKS !== 0) return;
    inOrder(news ? keepText : lookAtIt).catch((err: unknown) => {
      if (wasEnded(err)) given.stop();
      else if (isFenced(err)) hold.lose();
      else log.warn({ turnId, err, errorKind: 'dependency', hint: 'who comes back may have to wait for the end' }, 'text not kept');
    });
  });

  return {
    note: (mark) =>
      inOrder(async () => {
        const frame = frames.next();
        await write(frame, { mark: await hold.persist(() => keepMark(bodies, turnId, mark)) });
        [text, kept] = ['', 0];
      }),
    join: (others) =>
      inOrder(() =>
        write(frames.next(), {
          mark: { mark: 'heard', count: others.length } satisfies Mark,
          joined: [...(there.joined ?? []), ...others],
        }),
      ),
    heard: (piece) => void (text += piece),
    async close() {
      closed = true;
      stop();
      await last;
    },
  };
}
