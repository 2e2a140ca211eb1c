import { once } from 'node:events';
import { get } from 'node:http';
import { tempDir } from '@switchyard/testkit';
import type { Outcome } from '../measure.ts';
import { residentKib } from '../proc.ts';
import { startEmbedded } from '../product.ts';
import type { Subject } from '../subject.ts';
import { slots } from './turn-subjects.ts';

/** Who accepts what waits; more connections than that are not needed for it. */
const CALLERS = 32;
/** Turns of one session may wait behind each other, as many as are taken without being asked for. */
const IN_A_SESSION = 10;
const SAMPLE_MS = 200;
/** As long as a script may wait. */
const BLOCKED_MS = 600_000;

const SETTINGS = {
  SWITCHYARD_AGENTS__DEFAULT__MODEL: 'dev/scripted',
  SWITCHYARD_QUEUE__MAX_WAITING: '1000000',
  SWITCHYARD_QUEUE__WAIT_TIMEOUT_MS: '86400000',
  SWITCHYARD_LOG_LEVEL: 'error',
};

/**
 * Row 17, the queue: so many turns wait for an agent whose slots are taken. The process is killed, and another one with room finds all
 * of them. Nobody overtakes, so a turn that comes then is answered when all are done.
 */
export async function measureQueue(count: number, onProgress: (what: string) => void): Promise<{ outcomes: Outcome[]; notes: string[] }> {
  await using data = await tempDir();
  onProgress(`a queue of ${count} turns: filling it`);
  const filledMib = await fill(data.path, count);
  await using stack = new AsyncDisposableStack();
  const subject = await startEmbedded(stack, { data: data.path, env: { ...SETTINGS, ...slots(32) } });
  const growth = watchGrowth(subject);
  onProgress(`a queue of ${count} turns: draining it`);
  const from = performance.now();
  await accepted(subject, { session: 'last', script: [{ text: 'done' }], until: 'event: done' });
  const seconds = (performance.now() - from) / 1_000;
  const drainedMib = growth.stop();
  const line = { row: 17, ours: 'embedded' as const, what: `a queue of ${count} turns drains` };
  return {
    outcomes: [
      { ...line, what: `${line.what}, turns a second`, values: [count / seconds], unit: '/s', target: {} },
      { ...line, what: `${line.what}, RSS grows`, values: [drainedMib], unit: 'MiB', target: { most: 200 } },
      { ...line, what: `${count} turns are accepted and wait, RSS grows`, values: [filledMib], unit: 'MiB', target: { most: 200 } },
    ],
    notes: [],
  };
}

/** By how many mebibytes the memory of a process grows at most, from now on until it is stopped. */
function watchGrowth({ edge: { pid } }: Subject): { stop(): number } {
  const before = residentKib(pid);
  let most = before;
  const look = (): void => void (most = Math.max(most, residentKib(pid)));
  const sampling = setInterval(look, SAMPLE_MS);
  return {
    stop() {
      clearInterval(sampling);
      look();
      return (most - before) / 1_024;
    },
  };
}

/** Everything waits behind turns that have all the slots. By how much the process grew. */
async function fill(data: string, count: number): Promise<number> {
  await using stack = new AsyncDisposableStack();
  const subject = await startEmbedded(stack, { data, env: { ...SETTINGS, ...slots(1) } });
  await accepted(subject, { session: 'blocker', script: [{ wait: BLOCKED_MS }, { text: 'late' }] });
  const growth = watchGrowth(subject);
  let asked = 0;
  const callers = Array.from({ length: CALLERS }, async () => {
    for (let at = asked++; at < count; at = asked++) {
      await accepted(subject, { session: `queued${Math.floor(at / IN_A_SESSION)}`, script: [{ text: 'done' }] });
    }
  });
  await Promise.all(callers);
  const grown = growth.stop();
  await subject.edge.end('SIGKILL');
  return grown;
}

interface Wanted {
  session: string;
  script: unknown;
  /** What the stream is left after; its first line, unless said, which it says once the turn is accepted. */
  until?: string;
}

/** Starts a turn, and leaves its stream when it says so; leaving ends no turn. */
async function accepted({ url, headers }: Subject, { session, script, until = 'retry: ' }: Wanted): Promise<void> {
  const query = new URLSearchParams({ message: JSON.stringify(script), sessionKey: session });
  const request = get(`${url}/api/chat/stream?${query.toString()}`, { headers, agent: false });
  const [response] = (await once(request, 'response')) as [NodeJS.ReadableStream & { statusCode?: number }];
  if (response.statusCode !== 200) throw new Error(`a turn was not accepted: ${response.statusCode}`);
  let said = '';
  for await (const part of response.setEncoding('utf8')) if ((said += String(part)).includes(until)) break;
  request.destroy();
  if (!said.includes(until)) throw new Error(`a turn ended without ${until}: ${said.slice(-200)}`);
}
