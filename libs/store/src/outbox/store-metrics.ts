import { observe } from '@switchyard/telemetry';

interface HasSize {
  readonly size: number;
}

/** Registers gauges for queued operations and for documents with pending events. The returned function unregisters them. */
export function observeStore(service: string, { queue, publisher }: { queue: HasSize; publisher: HasSize }): () => void {
  const ends = [
    observe('switchyard.store.queue', { service }, () => queue.size),
    observe('switchyard.store.outbox', { service }, () => publisher.size),
  ];
  return () => {
    for (const end of ends) end();
  };
}
