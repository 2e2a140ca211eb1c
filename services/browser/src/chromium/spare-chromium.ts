import { systemClock, type Clock } from '@switchyard/service-kit';
import type { Browser } from 'playwright-core';

/** Longer than a lease, so that a prepared Chromium waits for the end of the lease that its browser has elsewhere. */
const SPARE_TTL_MS = 15_000;

/** Starts Chromium, ahead of its use if a browser will be taken over. */
export interface SpareChromium extends AsyncDisposable {
  /** Starts one Chromium in the background. It ends if no launch takes it. */
  prepare(): void;
  /** Returns the prepared Chromium, or starts one. */
  launch(): Promise<Browser>;
}

export function createSpareChromium(start: () => Promise<Browser>, clock: Clock = systemClock): SpareChromium {
  let spare: { browser: Promise<Browser | undefined>; keep: () => void } | undefined;

  async function discard(): Promise<void> {
    const unused = spare;
    spare = undefined;
    unused?.keep();
    await (await unused?.browser)?.close().catch(() => undefined);
  }

  return {
    prepare() {
      if (spare) return;
      // The launch that follows reports why Chromium does not start.
      const browser = start().catch(() => undefined);
      spare = { browser, keep: clock.after(SPARE_TTL_MS, () => void discard()) };
    },
    async launch() {
      const taken = spare;
      spare = undefined;
      taken?.keep();
      const browser = await taken?.browser;
      return browser?.isConnected() === true ? browser : start();
    },
    [Symbol.asyncDispose]: discard,
  };
}
