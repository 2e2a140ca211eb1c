// A gateway in a process of its own that publishes events on request, so that its memory can be measured alone.
import { EVENTS_LOG } from '@switchyard/contracts';
import { startTestGateway } from '../gateway.fixture.ts';

export interface Say {
  perSecond: number;
  count: number;
}

const TICK_MS = 5;
const text = 'n'.repeat(120);
const gateway = await startTestGateway({ settings: { maxHttpConnections: 20_000, maxHttpConnectionsPerAddress: 20_000 } });
await gateway.bus.log(EVENTS_LOG);
const voice = gateway.bus.as({ tenant: 'default', client: 'test', scopes: ['*'] });

async function say({ perSecond, count }: Say): Promise<void> {
  const startedAt = performance.now();
  let said = 0;
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const due = Math.min(count, Math.floor(((performance.now() - startedAt) * perSecond) / 1_000));
      for (; said < due; said += 1) voice.emit('message:sent', { channelId: 'gateway', messageId: String(said), content: text });
      if (said < count) return;
      clearInterval(timer);
      resolve();
    }, TICK_MS);
  });
}

process.on('message', (told: Say | 'weigh') => {
  void (told === 'weigh' ? Promise.resolve() : say(told)).then(() => {
    globalThis.gc?.();
    process.send?.(process.memoryUsage.rss());
  });
});
process.on('disconnect', () => process.exit());
process.send?.(gateway.url);
