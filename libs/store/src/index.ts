export type * from './store.ts';
export { collection, type CollectionSpec, type Document, type DocumentOf } from './collection.ts';
