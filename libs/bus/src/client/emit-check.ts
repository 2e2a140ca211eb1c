import { AsyncLocalStorage } from 'node:async_hooks';
import { processEvents, type Callable } from '@switchyard/contracts';

/** The call that a handler is answering. */
export interface EmittingCall {
  readonly method: { readonly callable: Pick<Callable, 'name' | 'emits'> };
  readonly ended: boolean;
}

/** The call that the current async context belongs to. Used only with `checkResults`; costs nothing otherwise. */
const calls = new AsyncLocalStorage<EmittingCall>();

const breaches = new WeakMap<EmittingCall, TypeError>();

/** Runs a handler and attributes the events it emits to its call. */
export function trackEmits(call: EmittingCall, handle: () => void): void {
  calls.run(call, handle);
}

/**
 * Throws if a handler emits an event that its contract does not declare. Events emitted after the reply, or outside of a call, are not
 * checked.
 */
export function checkEmits(event: string): void {
  const call = calls.getStore();
  if (call === undefined || call.ended || processEvents.has(event)) return;
  const { name, emits } = call.method.callable;
  if ((emits as readonly string[]).includes(event)) return;
  const breach = new TypeError(`${name} emits ${event}, which its contract does not declare: add it to its \`emits\``);
  breaches.set(call, breach);
  throw breach;
}

/** Throws the error of `checkEmits` again, so that a handler that caught it cannot return a result. */
export function throwEmitBreach(call: EmittingCall): void {
  const breach = breaches.get(call);
  if (breach !== undefined) throw breach;
}
