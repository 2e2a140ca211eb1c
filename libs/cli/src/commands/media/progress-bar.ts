const DELAY_MS = 1_000;
const FRAME_MS = 120;
const WIDTH = 20;
const BLOCK = 5;

/** Shows a moving bar on a terminal while work takes longer than a second. Elsewhere it writes one line. */
export async function showProgress<T>(title: string, work: () => Promise<T>, screen: NodeJS.WriteStream = process.stderr): Promise<T> {
  const startedAt = performance.now();
  let frame = 0;
  let frames: NodeJS.Timeout | undefined;
  const draw = (): void => {
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    screen.write(`\r${title} ${formatBar(frame++)} ${seconds} s`);
  };
  const start = setTimeout(() => {
    if (!screen.isTTY) screen.write(`${title} …\n`);
    else frames = setInterval(draw, FRAME_MS);
  }, DELAY_MS);
  try {
    return await work();
  } finally {
    clearTimeout(start);
    clearInterval(frames);
    if (frames !== undefined) screen.write('\r\u001B[K');
  }
}

/** A block that moves to the end of the bar and back. */
export function formatBar(frame: number): string {
  const room = WIDTH - BLOCK;
  const at = room - Math.abs((frame % (2 * room)) - room);
  return `[${'·'.repeat(at)}${'█'.repeat(BLOCK)}${'·'.repeat(room - at)}]`;
}
