import { checkEmits } from '@switchyard/bus';
import type { Document, Documents, OutboxEvent, Store } from '@switchyard/store';

/** Checks the events of each write against the contract of the current call. Used in tests and development. */
export function checkedStore(store: Store): Store {
  return {
    ...store,
    async open(specs) {
      const opened = await store.open(specs);
      const checked = Object.entries(opened).map(([name, { key, ...collection }]) => [
        name,
        {
          key,
          for: (principal: Parameters<typeof collection.for>[0]) => checkedDocuments(collection.for(principal)),
          system: () => checkedDocuments(collection.system() as Documents<Document>),
        },
      ]);
      return Object.fromEntries(checked) as typeof opened;
    },
  };
}

function checkedDocuments(documents: Documents<Document>): Documents<Document> {
  return {
    ...documents,
    insert: async (document, options) => (check(options?.emit), documents.insert(document, options)),
    replace: async (document, options) => (check(options?.emit), documents.replace(document, options)),
    update: async (filter, change) => (check(change.emit), documents.update(filter, change)),
    claim: async (filter, change, options) => (check(change.emit), documents.claim(filter, change, options)),
  };
}

function check(events: readonly OutboxEvent[] = []): void {
  for (const { name } of events) checkEmits(name);
}
