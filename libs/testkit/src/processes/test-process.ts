import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { endWithParent } from './parent-guard.ts';

const START_MS = 60_000;

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A child process with recorded output. Disposing kills it and waits for its exit. It is terminated when this process ends. */
export interface StartedProcess extends AsyncDisposable {
  readonly pid: number;
  /** The match of `ready`; empty without `ready`. */
  readonly ready: readonly string[];
  /** Standard output and error so far, in order of arrival. */
  output(): string;
  /** Resolves once the output contains a match; rejects if the process exits without one. */
  line(pattern: RegExp): Promise<RegExpExecArray>;
  /** Sends a signal, SIGTERM by default. Resolves with the exit status. */
  end(signal?: NodeJS.Signals): Promise<Exit>;
  readonly exited: Promise<Exit>;
}

export interface StartProcessOptions {
  /** The environment; PATH and NODE_COMPILE_CACHE are added. */
  env?: Readonly<Record<string, string>>;
  cwd?: string;
  /** The start waits until the output matches. */
  ready?: RegExp;
  timeoutMs?: number;
}

/** Runs a command: `startProcess([process.execPath, 'main.ts'], { ready: /listening on (\S+)/ })`. */
export async function startProcess([command = '', ...args]: readonly string[], options: StartProcessOptions = {}): Promise<StartedProcess> {
  const { env = {}, cwd, ready, timeoutMs = START_MS } = options;
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(command, args, {
    env: { PATH, ...(NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(cwd === undefined ? {} : { cwd }),
  });
  endWithParent(child, { how: 'told' });
  let text = '';
  const grown = new Set<() => void>();
  const add = (part: string): void => {
    text += part;
    for (const look of grown) look();
  };
  child.stdout.setEncoding('utf8').on('data', add);
  child.stderr.setEncoding('utf8').on('data', add);
  const exited = once(child, 'close').then(([code, signal]) => ({ code: code as number | null, signal: signal as NodeJS.Signals | null }));

  function line(pattern: RegExp): Promise<RegExpExecArray> {
    const { promise, resolve, reject } = Promise.withResolvers<RegExpExecArray>();
    const fail = (reason: string): void => reject(new Error(`${command} ${reason} without ${String(pattern)}; it wrote:\n${text}`));
    const look = (): void => {
      const match = pattern.exec(text);
      if (match) resolve(match);
    };
    const timer = setTimeout(fail, timeoutMs, `ran ${timeoutMs} ms`);
    grown.add(look);
    exited.then(
      () => fail('ended'),
      (error: unknown) => fail(`did not start (${String(error)})`),
    );
    look();
    return promise.finally(() => {
      clearTimeout(timer);
      grown.delete(look);
    });
  }

  async function end(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    return exited;
  }

  const started: Omit<StartedProcess, 'ready'> = {
    pid: child.pid ?? -1,
    output: () => text,
    line,
    end,
    exited,
    async [Symbol.asyncDispose]() {
      await end('SIGKILL');
    },
  };
  try {
    return { ...started, ready: ready === undefined ? [] : [...(await line(ready))] };
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}
