import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** So many bytes carried make garbage of two or three times as many. */
const EVERY_BYTES = 8_388_608;

type Collect = (options: { type: 'minor' }) => void;
let collect: Collect | undefined;
let carried = 0;

/**
 * Told of every piece that is carried. V8 waits for 64 MB of garbage that lies outside its heap, as all these pieces do: a process
 * that needs 10 MB to carry blobs would take 80. Looking at the young objects alone takes less than a millisecond.
 */
export function carry(bytes: number): void {
  if ((carried += bytes) < EVERY_BYTES) return;
  carried = 0;
  (collect ??= findCollect())({ type: 'minor' });
}

function findCollect(): Collect {
  setFlagsFromString('--expose-gc');
  const found = runInNewContext('gc') as Collect;
  setFlagsFromString('--no-expose-gc');
  return found;
}
