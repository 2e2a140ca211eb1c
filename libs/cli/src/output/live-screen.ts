import { setTimeout as pause } from 'node:timers/promises';
import { fitted, printable } from './output.ts';

/** Switches to the alternate screen, which has no scrollback, and hides the cursor. */
const OPEN = '\u001b[?1049h\u001b[?25l';
/** Shows the cursor and what was on the terminal before. */
const CLOSE = '\u001b[?25h\u001b[?1049l';
/** Clears the screen and moves the cursor to its start. */
const CLEAR = '\u001b[2J\u001b[H';
/** Raw mode delivers Ctrl-C as this character instead of a signal. */
const CTRL_C = '\u0003';
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Shows frames on the terminal, one every `refreshMs`, until q or Ctrl-C is pressed. Restores the terminal however it ends, also if a frame
 * cannot be rendered. Resolves to true if Ctrl-C or a signal ended it.
 */
export async function showFrames(renderFrame: () => Promise<string>, refreshMs: number): Promise<boolean> {
  const ended = new AbortController();
  const closed = Promise.withResolvers<undefined>();
  let isInterrupted = false;
  const end = (): void => {
    closed.resolve(undefined);
    ended.abort();
  };
  const interrupt = (): void => {
    isInterrupted = true;
    end();
  };
  using _keys = readKeys((key) => {
    if (key === CTRL_C) interrupt();
    else if (key === 'q' || key === 'Q') end();
  });
  for (const signal of SIGNALS) process.on(signal, interrupt);
  process.stdout.write(OPEN);
  try {
    while (!ended.signal.aborted) {
      const frame = await Promise.race([renderFrame(), closed.promise]);
      if (frame === undefined) break;
      process.stdout.write(`${CLEAR}${fitFrame(frame)}`);
      await pause(refreshMs, undefined, { signal: ended.signal }).catch(() => undefined);
    }
    return isInterrupted;
  } finally {
    process.stdout.write(CLOSE);
    for (const signal of SIGNALS) process.off(signal, interrupt);
  }
}

/** Calls back for each pressed key, without a line end and without an echo. Standard input that is no terminal is not read. */
function readKeys(onKey: (key: string) => void): Disposable {
  const { stdin } = process;
  if (!stdin.isTTY) return { [Symbol.dispose]: () => undefined };
  const read = (keys: string): void => {
    for (const key of keys) onKey(key);
  };
  stdin.setRawMode(true).setEncoding('utf8').on('data', read);
  return {
    [Symbol.dispose]() {
      stdin.off('data', read).pause();
      stdin.setRawMode(false);
    },
  };
}

/** Truncates a frame to the terminal, so that it does not scroll and lose its first lines. */
function fitFrame(frame: string): string {
  const lines = printable(frame, process.stdout).trimEnd().split('\n');
  const shown = lines.slice(0, process.stdout.rows || lines.length);
  // Raw mode concerns input only, so that the terminal still adds carriage returns.
  return shown.map((line) => fitted(line)).join('\n');
}
