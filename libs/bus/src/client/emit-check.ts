import { AsyncLocalStorage } from 'node:async_hooks';
import type { Callable } from '@switchyard/contracts';

/** The call that a handler is answering. */
export interface EmittingCall {
  readonly method: { readonly callable: Pick<Callable, 'name' | 'emits'> };
  readonly ended: boolean;
}

/** The call that the present work is done for. Filled only where events are held against the contract; elsewhere it costs nothing. */
const calls = new AsyncLocalStorage<EmittingCall>();

const breaches = new WeakMap<EmittingCall, TypeError>();

/** Runs a handler so that the events it causes are known to be its own. */
export function trackEmits(call: EmittingCall, handle: () => void): void {
  calls.run(call, handle);
}

/**
 * Throws where a handler emits an event that its contract does not declare. What goes on after the answer is background work, and
 * so is everything that no call began.
 */
export function checkEmits(event: string): void {
  const call = calls.getStore();
  if (call === undefined || call.ended) return;
  const { name, emits } = call.method.callable;
  if ((emits as readonly string[]).includes(event)) return;
  const breach = new TypeError(`${name} emits ${event}, which its contract does not declare: add it to its \`emits\``);
  breaches.set(call, breach);
  throw breach;
}

/** Throws what `checkEmits` threw, so that a handler which caught it does not answer all the same. */
export function throwEmitBreach(call: EmittingCall): void {
  const breach = breaches.get(call);
  if (breach !== undefined) throw breach;
}
