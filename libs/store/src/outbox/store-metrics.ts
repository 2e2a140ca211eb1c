import { observe } from '@switchyard/telemetry';

interface HasSize {
  readonly size: number;
}

/** What waits in a store of a service shows in the metrics, until the returned function is called. */
export function observeStore(service: string, { queue, publisher }: { queue: HasSize; publisher: HasSize }): () => void {
  const ends = [
    observe('switchyard.store.queue', { service }, () => queue.size),
    observe('switchyard.store.outbox', { service }, () => publisher.size),
  ];
  return () => {
    for (const end of ends) end();
  };
}
