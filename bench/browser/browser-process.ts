import { testBrowser } from '../../services/browser/src/browser.fixture.ts';

/** Starts the service in this process. No browser runs. */
export async function startService(): Promise<void> {
  await testBrowser();
}
