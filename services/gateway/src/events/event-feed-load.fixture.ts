// A gateway in a process of its own that publishes events on request, so that its memory can be measured alone.
import { EVENTS_LOG } from '@switchyard/contracts';
import { startTestGateway } from '../gateway.fixture.ts';

export interface PublishRequest {
  perSecond: number;
  count: number;
  /** The first message id; 0 by default. */
  from?: number;
  tenant?: string;
}

const TICK_MS = 5;
const text = 'n'.repeat(120);
const gateway = await startTestGateway({ settings: { maxHttpConnections: 20_000, maxHttpConnectionsPerAddress: 20_000 } });
await gateway.bus.log(EVENTS_LOG);

async function publish({ perSecond, count, from = 0, tenant = 'default' }: PublishRequest): Promise<void> {
  const publisher = gateway.bus.as({ tenant, client: 'test', scopes: ['*'] });
  const startedAt = performance.now();
  let published = 0;
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const due = Math.min(count, Math.floor(((performance.now() - startedAt) * perSecond) / 1_000));
      for (; published < due; published += 1)
        publisher.emit('message:sent', { channelId: 'gateway', messageId: String(from + published), content: text });
      if (published < count) return;
      clearInterval(timer);
      resolve();
    }, TICK_MS);
  });
}

/** The longest turn of the event loop in CPU milliseconds, which a busy machine does not lengthen. */
let longestTurn = 0;
let watch: NodeJS.Timeout | undefined;

function watchEventLoop(): void {
  longestTurn = 0;
  clearInterval(watch);
  let before = process.threadCpuUsage();
  watch = setInterval(() => {
    const { user, system } = process.threadCpuUsage(before);
    longestTurn = Math.max(longestTurn, (user + system) / 1_000);
    before = process.threadCpuUsage();
  }, 1);
}

async function answer(request: PublishRequest | 'measure-memory' | 'watch-event-loop' | 'longest-turn'): Promise<number> {
  if (request === 'longest-turn') return longestTurn;
  if (typeof request === 'object') await publish(request);
  globalThis.gc?.();
  if (request === 'watch-event-loop') watchEventLoop();
  return process.memoryUsage.rss();
}

process.on('message', (request: Parameters<typeof answer>[0]) => {
  void answer(request).then((value) => process.send?.(value));
});
process.on('disconnect', () => process.exit());
process.send?.(gateway.url);
