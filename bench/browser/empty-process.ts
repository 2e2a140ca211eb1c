import { browser as contract } from '@switchyard/contracts';
import { defineService } from '@switchyard/service-kit';
import { testService } from '@switchyard/testkit';

/** Starts a service in this process that has the contract of the browser service and does nothing. */
export async function startService(): Promise<void> {
  const answer = async (): Promise<unknown> => ({});
  const handlers = Object.fromEntries(Object.keys(contract.methods).map((name) => [name, answer])) as never;
  await testService(defineService({ contract, version: '0.1.0', settings: [], setup: async () => handlers }));
}
