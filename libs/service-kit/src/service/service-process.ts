import type { Contract } from '@switchyard/contracts';
import type { Logger } from '@switchyard/telemetry';
import closeWithGrace from 'close-with-grace';
import type { ServiceDefinition } from './service-definition.ts';
import { openHost, type Host } from '../host/host.ts';
import { startAgainWith } from '../host/node-permissions.ts';
import type { SectionName } from '../settings/settings.ts';
import { startService } from './service-start.ts';
import { StartError } from '../variables/start-error.ts';

/** After an uncaught error the state of the process is unreliable, so it drains only briefly. */
const AFTER_ERROR_MS = 5_000;
const PATIENCE_MS = 1_000;

/** Runs a process with one service, for its `main.ts`. */
export async function runService<C extends Contract, K extends SectionName>(definition: ServiceDefinition<C, K>): Promise<void> {
  const { service } = definition.contract;
  await runProcess(service, async ({ stack, signal }) => {
    const host = stack.use(await openHost({ env: process.env, service, signal, restrict: startAgainWith }));
    stack.use(await startService(definition, host));
    return host;
  });
}

export interface Starting {
  /** Resources that are disposed in reverse order when the process ends. */
  stack: AsyncDisposableStack;
  /** Aborts when the process receives a signal before it has started. */
  signal: AbortSignal;
}

export interface RunOptions {
  /**
   * Replaces the process after a drain when a restart was requested, for processes without a supervisor.
   * Without it the process exits 0, and its supervisor starts it again.
   */
  again?: () => void;
}

/**
 * Starts a process and runs it until a signal, an uncaught error or the loss of the bus. SIGTERM and SIGINT drain within
 * `daemon.shutdownTimeoutMs` and exit 0. An uncaught error is logged, drains for at most five seconds and exits 1. A failed start
 * prints the reason in one sentence and exits 1.
 */
export async function runProcess(name: string, start: (options: Starting) => Promise<Host>, { again }: RunOptions = {}): Promise<void> {
  const stack = new AsyncDisposableStack();
  const ending = new AbortController();
  let host: Host | undefined;
  let failed = false;
  let restarting = false;

  const starting = start({ stack, signal: ending.signal });
  const grace = closeWithGrace({ delay: false, logger: false }, async ({ err, signal }) => {
    ending.abort();
    if (err) host?.log.fatal({ err }, 'uncaught error; shutting down');
    else host?.log.info({ signal }, restarting ? 'shutting down for a restart' : 'shutting down');
    const ms = err ? AFTER_ERROR_MS : (host?.settings.current.daemon.shutdownTimeoutMs ?? AFTER_ERROR_MS);
    limit(ms, host?.log);
    if (process.stderr.isTTY) sayIfSlow(name, ms);
    host?.health.drain();
    await starting.catch(() => undefined);
    await stack.disposeAsync();
    if (failed) throw new StartError(`${name} lost the bus`);
    if (!restarting || again === undefined) return;
    await new Promise((resolve) => host?.log.flush(resolve));
    again();
  });

  try {
    host = await starting;
    for (const sentence of host.unused()) host.log.warn(sentence);
  } catch (error) {
    if (ending.signal.aborted) return;
    grace.uninstall();
    process.stderr.write(`${name} cannot start: ${startSentence(error)}\n`);
    await stack.disposeAsync();
    process.exit(1);
  }
  void host.restartWished.then(() => {
    if (ending.signal.aborted) return;
    restarting = true;
    grace.close();
  });
  void host.bus.closed.then(() => {
    if (ending.signal.aborted) return;
    host?.log.fatal('the connection to the bus was closed permanently; shutting down');
    failed = true;
    grace.close();
  });
}

/** Exits the process if draining takes longer than `ms`. */
function limit(ms: number, log?: Logger): void {
  setTimeout(() => {
    log?.error({ ms }, 'draining took too long; exiting');
    process.exit(1);
  }, ms).unref();
}

/** Explains on the terminal why the process has not exited yet after Ctrl-C. */
function sayIfSlow(name: string, ms: number): void {
  const sendMessage = (): boolean =>
    process.stderr.write(`${name} finishes running work for at most ${Math.ceil(ms / 1_000)} s; press Ctrl-C again to exit at once\n`);
  setTimeout(sendMessage, PATIENCE_MS).unref();
}

/** Returns the message of an error, with the stack only for programming errors. */
export function startSentence(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const bug = error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError || error instanceof SyntaxError;
  return bug ? (error.stack ?? error.message) : error.message;
}
