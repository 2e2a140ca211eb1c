// The measured process generates its own load, because a separate load generator on the bus would cost as much as the call.

export interface DrivePlan {
  /** Calls in flight. */
  inFlight: number;
  warmMs: number;
  ms: number;
}

export interface Driven {
  /** Replies per second. */
  rate: number;
}

/** Runs a closed loop for each plan that the parent process sends, and reports the result. */
export function drive(sendRequest: () => Promise<unknown>): void {
  process.on('message', (plan) => {
    void run(sendRequest, plan as DrivePlan).then((driven) => process.send?.(driven));
  });
  process.on('disconnect', () => process.exit());
  process.send?.('ready');
}

async function run(ask: () => Promise<unknown>, { inFlight, warmMs, ms }: DrivePlan): Promise<Driven> {
  let answeredCount = 0;
  let stopping = false;
  const loops = Array.from({ length: inFlight }, async () => {
    while (!stopping) {
      await ask();
      answeredCount++;
    }
  });
  await after(warmMs);
  answeredCount = 0;
  const from = performance.now();
  await after(ms);
  const rate = answeredCount / ((performance.now() - from) / 1_000);
  stopping = true;
  await Promise.all(loops);
  return { rate };
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms));
}
