import { cpuSeconds } from '../proc.ts';
import { startBroker, startCluster, startEmbedded } from '../product.ts';
import type { Subject } from '../subject.ts';

/** The default number of slots of an agent, so that no turn waits. */
const AT_ONCE = 4;
const WARM_MS = 1_500;
const WORDS = 20;
const MICROSECONDS = 1e6;
/** The processes of the cluster in start order. */
const PARTS = ['broker', 'secrets', 'registry', 'sessions', 'gateway'];

/** Measures the CPU time of each process for a durable turn: stored, run by `dev/echo` without tools, streamed and answered, in a new session. */
export async function turnCosts(seconds: number): Promise<string> {
  await using own = new AsyncDisposableStack();
  const subjects = [await startCluster(await startBroker(own), own), await startEmbedded(own)];
  const lines = ['| in | turns a second | CPU of a turn, µs |', '| --- | --- | --- |'];
  for (const subject of subjects) {
    const { rate, us } = await measure(subject, seconds);
    const parts = us.length === 1 ? '' : ` (${us.map((one, at) => `${PARTS[at]} ${one.toFixed(0)}`).join(', ')})`;
    const all = us.reduce((sum, one) => sum + one, 0);
    lines.push(
      `| ${subject.name === 'embedded' ? 'one process' : 'a process for each service'} | ${rate.toFixed(0)} | ${all.toFixed(0)}${parts} |`,
    );
  }
  return `Durable turns of ${WORDS} words, ${AT_ONCE} at once, on SQLite.\n\n${lines.join('\n')}`;
}

async function measure(subject: Subject, seconds: number): Promise<{ rate: number; us: number[] }> {
  let requestCount = 0;
  const sendRequest = async (ms: number): Promise<void> => {
    const deadline = performance.now() + ms;
    const loop = async (): Promise<void> => {
      while (performance.now() < deadline) await askOnce(subject, `c${requestCount++}`);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, loop));
  };
  await sendRequest(WARM_MS);
  const from = { at: performance.now(), asked: requestCount, cpu: subject.pids.map(cpuSeconds) };
  await sendRequest(seconds * 1_000);
  const count = requestCount - from.asked;
  const us = subject.pids.map((pid, at) => ((cpuSeconds(pid) - (from.cpu[at] ?? 0)) * MICROSECONDS) / count);
  return { rate: (count / (performance.now() - from.at)) * 1_000, us };
}

async function askOnce({ url, headers }: Subject, channelId: string): Promise<void> {
  const message = Array.from({ length: WORDS }, (_, n) => `word${n}`).join(' ');
  const params = { message, sessionKey: { channelId } };
  const response = await fetch(`${url}/rpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'agent.execute', params }),
  });
  const text = await response.text();
  if (!text.includes('"result"')) throw new Error(`a turn failed: ${text}`);
}
