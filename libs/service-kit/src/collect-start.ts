import { performance } from 'node:perf_hooks';

const LOOK_MS = 1_000;
/** The part of its time that a process works which has little to do. */
const QUIET = 0.2;

interface Given {
  collect: NodeJS.GCFunction | undefined;
  /** The part of the time since it was last asked in which the process worked. */
  worked: () => number;
}

/**
 * A start leaves much behind that nobody needs any more: sources that were compiled, schemas on their way to be declarations. Where little
 * is asked, nothing would collect that. So it is collected once, in the first second in which there is little to do, and what it took is
 * given back to the system. It takes some 100 ms. Does nothing where Node was started without `--expose-gc`.
 */
export function collectStart({ collect, worked }: Given = { collect: globalThis.gc, worked: createWorked() }): void {
  if (collect === undefined) return;
  worked();
  const looks = setInterval(() => {
    if (worked() > QUIET) return;
    clearInterval(looks);
    collect({ type: 'major', flavor: 'last-resort' });
  }, LOOK_MS).unref();
}

function createWorked(): () => number {
  let before = performance.eventLoopUtilization();
  return () => {
    const { utilization } = performance.eventLoopUtilization(before);
    before = performance.eventLoopUtilization();
    return utilization;
  };
}
