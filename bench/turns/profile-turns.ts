import { bytesByInnermost, framesText, timeByOutermost, type Phase } from '../frames.ts';
import { inspect } from '../inspector.ts';
import { BOUNDED_QUEUE, openTurnLoad, OVERLOAD_FACTOR, type TurnLoad } from '../overload.ts';
import { startEmbedded } from '../product.ts';
import { startUpstream } from '../subject.ts';
import { slots } from './turn-subjects.ts';

const TOP = 40;
/** Slots of the agent, fewer than the clients. */
const SLOTS = 16;

/** Row 17 uses the development model, row 18 the model upstream. */
export type ProfiledRow = 17 | 18;

/**
 * Profiles durable turns in two phases: at capacity and at three times the capacity. Prints the microseconds of an answered turn by
 * outermost function and its allocated bytes by innermost function of this repository.
 */
export async function profileTurns(row: ProfiledRow, seconds: number, onProgress: (description: string) => void): Promise<string> {
  await using stack = new AsyncDisposableStack();
  const upstream = row === 18 ? await startUpstream(stack) : undefined;
  const subject = await startEmbedded(stack, { inspect: true, upstream, env: { ...BOUNDED_QUEUE, ...slots(SLOTS) } });
  using inspector = stack.use(await inspect(subject.edge));
  await using load = openTurnLoad(subject);
  onProgress('profiling turns: until they are warm');
  await load.warm();
  const capacity = await load.peak(seconds);
  const phases: Record<string, () => Promise<unknown>> = {
    capacity: () => load.peak(seconds),
    [`${OVERLOAD_FACTOR} times`]: () => load.offer(capacity * OVERLOAD_FACTOR, seconds),
  };
  const [time, bytes]: [Phase[], Phase[]] = [[], []];
  for (const [name, run] of Object.entries(phases)) {
    onProgress(`profiling turns: ${name}`);
    time.push(await phase(name, load, run, async (work) => timeByOutermost(await inspector.time(work))));
    bytes.push(await phase(name, load, run, async (work) => bytesByInnermost(await inspector.allocations(work))));
  }
  return [
    framesText(`durable turns, row ${row}: µs of one that is answered, by our outermost function`, time, TOP),
    framesText(`durable turns, row ${row}: bytes that it allocates, by our innermost function`, bytes, TOP),
  ].join('\n');
}

type Watch = (work: () => Promise<void>) => Promise<Phase['frames']>;

async function phase(name: string, load: TurnLoad, run: () => Promise<unknown>, watch: Watch): Promise<Phase> {
  const before = load.answered();
  const frames = await watch(async () => void (await run()));
  return { name, frames, turns: load.answered() - before };
}
