// A gateway in a process of its own that publishes events on request, so that its memory can be measured alone.
import { EVENTS_LOG } from '@switchyard/contracts';
import { startTestGateway } from '../gateway.fixture.ts';

export interface PublishRequest {
  perSecond: number;
  count: number;
}

const TICK_MS = 5;
const text = 'n'.repeat(120);
const gateway = await startTestGateway({ settings: { maxHttpConnections: 20_000, maxHttpConnectionsPerAddress: 20_000 } });
await gateway.bus.log(EVENTS_LOG);
const publisher = gateway.bus.as({ tenant: 'default', client: 'test', scopes: ['*'] });

async function publish({ perSecond, count }: PublishRequest): Promise<void> {
  const startedAt = performance.now();
  let published = 0;
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const due = Math.min(count, Math.floor(((performance.now() - startedAt) * perSecond) / 1_000));
      for (; published < due; published += 1)
        publisher.emit('message:sent', { channelId: 'gateway', messageId: String(published), content: text });
      if (published < count) return;
      clearInterval(timer);
      resolve();
    }, TICK_MS);
  });
}

process.on('message', (request: PublishRequest | 'measure-memory') => {
  void (request === 'measure-memory' ? Promise.resolve() : publish(request)).then(() => {
    globalThis.gc?.();
    process.send?.(process.memoryUsage.rss());
  });
});
process.on('disconnect', () => process.exit());
process.send?.(gateway.url);
