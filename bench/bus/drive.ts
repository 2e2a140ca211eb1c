// What is measured drives itself: between two processes on a bus there is no place for a load generator that costs nothing.

export interface DrivePlan {
  /** How many are under way at once. */
  inFlight: number;
  warmMs: number;
  ms: number;
}

export interface Driven {
  /** How many were answered, a second. */
  rate: number;
}

/** Measures whenever the parent process says so: as soon as one is answered, the next is asked. */
export function drive(ask: () => Promise<unknown>): void {
  process.on('message', (plan) => {
    void run(ask, plan as DrivePlan).then((driven) => process.send?.(driven));
  });
  process.on('disconnect', () => process.exit());
  process.send?.('ready');
}

async function run(ask: () => Promise<unknown>, { inFlight, warmMs, ms }: DrivePlan): Promise<Driven> {
  let answered = 0;
  let stopping = false;
  const loops = Array.from({ length: inFlight }, async () => {
    while (!stopping) {
      await ask();
      answered++;
    }
  });
  await after(warmMs);
  answered = 0;
  const from = performance.now();
  await after(ms);
  const rate = answered / ((performance.now() - from) / 1_000);
  stopping = true;
  await Promise.all(loops);
  return { rate };
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms));
}
