import { once } from 'node:events';
import { get } from 'node:http';
import { tempDir } from '@switchyard/testkit';
import type { Outcome } from '../measure.ts';
import { residentKib } from '../proc.ts';
import { startEmbedded } from '../product.ts';
import type { Subject } from '../subject.ts';
import { slots } from './turn-subjects.ts';

/** Connections that enqueue the turns. */
const CALLERS = 32;
/** Queued turns per session, within the default queue depth. */
const IN_A_SESSION = 10;
const SAMPLE_MS = 200;
/** Maximum wait of a script of the development model. */
const BLOCKED_MS = 600_000;

const SETTINGS = {
  SWITCHYARD_AGENTS__DEFAULT__MODEL: 'dev/scripted',
  SWITCHYARD_QUEUE__MAX_WAITING: '1000000',
  SWITCHYARD_QUEUE__WAIT_TIMEOUT_MS: '86400000',
  SWITCHYARD_LOG_LEVEL: 'error',
};

/**
 * Row 17, the queue: `count` turns wait for an agent without free slots. The process is killed, and a new process runs all of them.
 * Turns run in order, so a turn that is added last is answered when all others are done.
 */
export async function measureQueue(
  count: number,
  onProgress: (description: string) => void,
): Promise<{ outcomes: Outcome[]; notes: string[] }> {
  await using data = await tempDir();
  onProgress(`a queue of ${count} turns: filling it`);
  const filledMib = await fill(data.path, count);
  await using stack = new AsyncDisposableStack();
  const subject = await startEmbedded(stack, { data: data.path, env: { ...SETTINGS, ...slots(32) } });
  const growth = watchGrowth(subject);
  onProgress(`a queue of ${count} turns: draining it`);
  const from = performance.now();
  await startAndLeave(subject, { session: 'last', script: [{ text: 'done' }], until: 'event: done' });
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

/** Samples the maximum growth of a process in MiB until it is stopped. */
function watchGrowth({ edge: { pid } }: Subject): { stop(): number } {
  const before = residentKib(pid);
  let max = before;
  const look = (): void => void (max = Math.max(max, residentKib(pid)));
  const sampling = setInterval(look, SAMPLE_MS);
  return {
    stop() {
      clearInterval(sampling);
      look();
      return (max - before) / 1_024;
    },
  };
}

/** Enqueues turns behind turns that hold all slots. Returns the growth of the process in MiB. */
async function fill(data: string, count: number): Promise<number> {
  await using stack = new AsyncDisposableStack();
  const subject = await startEmbedded(stack, { data, env: { ...SETTINGS, ...slots(1) } });
  await startAndLeave(subject, { session: 'blocker', script: [{ wait: BLOCKED_MS }, { text: 'late' }] });
  const growth = watchGrowth(subject);
  let requestCount = 0;
  const callers = Array.from({ length: CALLERS }, async () => {
    for (let at = requestCount++; at < count; at = requestCount++) {
      await startAndLeave(subject, { session: `queued${Math.floor(at / IN_A_SESSION)}`, script: [{ text: 'done' }] });
    }
  });
  await Promise.all(callers);
  const grown = growth.stop();
  await subject.edge.end('SIGKILL');
  return grown;
}

interface TurnOptions {
  session: string;
  script: unknown;
  /** The client leaves the stream after this text. The default is its first line, which is sent when the turn is accepted. */
  until?: string;
}

/** Starts a turn and leaves its stream after `until`. The turn continues. */
async function startAndLeave({ url, headers }: Subject, { session, script, until = 'retry: ' }: TurnOptions): Promise<void> {
  const query = new URLSearchParams({ message: JSON.stringify(script), sessionKey: session });
  const request = get(`${url}/api/chat/stream?${query.toString()}`, { headers, agent: false });
  const [response] = (await once(request, 'response')) as [NodeJS.ReadableStream & { statusCode?: number }];
  if (response.statusCode !== 200) throw new Error(`a turn was not accepted: ${response.statusCode}`);
  let said = '';
  for await (const part of response.setEncoding('utf8')) if ((said += String(part)).includes(until)) break;
  request.destroy();
  if (!said.includes(until)) throw new Error(`a turn ended without ${until}: ${said.slice(-200)}`);
}
