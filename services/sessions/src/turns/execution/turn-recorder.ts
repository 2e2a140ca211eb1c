import type { Documents } from '@switchyard/store';
import { type Heard, type TurnDocument, hasEnded } from '../../model/turn-document.ts';
import { keep } from '../../model/stored-text.ts';
import { keepMark, type Mark } from '../../model/checkpoint-log.ts';
import type { RunDeps, RunGiven } from './turn-run.ts';
import { tellPiece } from './message-streaming.ts';
import { checkpoint, endedMeanwhile, isFenced, wasEnded, type Checkpoint } from '../store/turn-store.ts';

/** How old what a turn has said may be before it is kept, for readers whom the log of frames has lost. */
const TEXT_MS = 1_000;

/** What a turn does and says, kept in its document as it happens. */
export interface Record {
  /** Keeps a mark before anything follows from it. */
  note: (mark: Mark) => Promise<void>;
  /** Keeps that the turn has heard others, before its model is told what they say. */
  join: (others: readonly Heard[]) => Promise<void>;
  /** The model said something. */
  heard: (text: string) => void;
  /** Keeps nothing more, and waits for what is being kept. */
  close: () => Promise<void>;
}

/** As many looks at a turn that says nothing as one at its document: somebody may have ended it whose word was lost. */
const LOOKS = 3;

/** Characters of a piece that stand in the turn's document. */
const PIECE_CHARS = 512;

export function openRecord(deps: RunDeps, given: Pick<RunGiven, 'hold' | 'turn' | 'frames' | 'stop'>): Record {
  const { clock, store, log } = deps;
  const { hold, turn, frames } = given;
  const { turnId } = turn;
  const turns: Documents<TurnDocument> = deps.turns.for(hold);
  const bodies = deps.bodies.for(hold);
  let there = turn;
  /** What the model has said in this step, and how much of it is kept. */
  let text = '';
  let kept = 0;
  let last: Promise<unknown> = Promise.resolve();
  let closed = false;
  let silent = 0;

  /** One after the other: each says how many there were before it. */
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
    // Also once at first, so that whoever asks is told that it runs.
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
