import type { Contract } from '@switchyard/contracts';
import type { Logger } from '@switchyard/telemetry';
import closeWithGrace from 'close-with-grace';
import type { ServiceDefinition } from './service-definition.ts';
import { openHost, type Host } from '../host/host.ts';
import { startAgainWith } from '../host/node-permissions.ts';
import type { SectionName } from '../settings/settings.ts';
import { startService } from './service-start.ts';
import { StartError } from '../variables/start-error.ts';

/** After an error nobody caught, little of the process can be trusted. */
const AFTER_ERROR_MS = 5_000;
const PATIENCE_MS = 1_000;

/** The whole life of a process with one service, for its `main.ts`. */
export async function runService<C extends Contract, K extends SectionName>(definition: ServiceDefinition<C, K>): Promise<void> {
  const { service } = definition.contract;
  await runProcess(service, async ({ stack, signal }) => {
    const host = stack.use(await openHost({ env: process.env, service, signal, restrict: startAgainWith }));
    stack.use(await startService(definition, host));
    return host;
  });
}

export interface Starting {
  /** What is used here is disposed of when the process ends, last first. */
  stack: AsyncDisposableStack;
  /** Aborts when the process is told to end before it has started. */
  signal: AbortSignal;
}

export interface RunOptions {
  /**
   * Called at the end of a drain when the process is to be restarted, for one that nobody keeps alive: it takes its own place.
   * Otherwise the process exits 0, and whoever keeps it alive starts it again.
   */
  again?: () => void;
}

/**
 * Starts, and stays until a signal, an uncaught error or the loss of the bus ends it. SIGTERM and SIGINT drain within
 * `daemon.shutdownTimeoutMs` and exit 0; an uncaught error is logged, drains for at most five seconds and exits 1. What cannot
 * start says why in one sentence and exits 1.
 */
export async function runProcess(name: string, start: (given: Starting) => Promise<Host>, { again }: RunOptions = {}): Promise<void> {
  const stack = new AsyncDisposableStack();
  const ending = new AbortController();
  let host: Host | undefined;
  let failed = false;
  let restarting = false;

  const starting = start({ stack, signal: ending.signal });
  const grace = closeWithGrace({ delay: false, logger: false }, async ({ err, signal }) => {
    ending.abort();
    if (err) host?.log.fatal({ err }, 'an error nobody caught; shutting down');
    else host?.log.info({ signal }, restarting ? 'shutting down, to be started again' : 'shutting down');
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
    host?.log.fatal('the connection to the bus is gone for good; shutting down');
    failed = true;
    grace.close();
  });
}

/** A hard end for a drain that hangs. */
function limit(ms: number, log?: Logger): void {
  setTimeout(() => {
    log?.error({ ms }, 'draining took too long; exiting');
    process.exit(1);
  }, ms).unref();
}

/** Whoever pressed Ctrl-C should see why the prompt is not back yet. */
function sayIfSlow(name: string, ms: number): void {
  const say = (): boolean =>
    process.stderr.write(`${name} finishes what runs, for at most ${Math.ceil(ms / 1_000)} s; Ctrl-C again drops it\n`);
  setTimeout(say, PATIENCE_MS).unref();
}

/** A stack only for what is a bug of ours; everything else is for the reader of the terminal. */
export function startSentence(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const bug = error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError || error instanceof SyntaxError;
  return bug ? (error.stack ?? error.message) : error.message;
}
