export {
  collection,
  type AnyCollectionSpec,
  type CollectionSpec,
  type Document,
  type DocumentOf,
  type IndexSpec,
} from './port/collection.ts';
export type { Bucket, BucketFile, BucketKey, BucketUpload } from './gridfs/bucket.ts';
export { openBucket } from './open-bucket.ts';
export { insertIfAbsent as inserted } from './insert-if-absent.ts';
export { json } from './port/json-field.ts';
export { lockDirectory, type DirectoryLock } from './lock-directory.ts';
export { openStore } from './open-store.ts';
export { openSearchIndex } from './search/open-search-index.ts';
export { quantizeVector } from './search/vector-index.ts';
export { createTextMatcher, type TextMatcher } from './words/text-matcher.ts';
export type {
  DeletedEntry,
  ListQuery,
  Scope,
  SearchEntry,
  SearchHits,
  SearchIndex,
  SearchQuery,
  VectorModel,
} from './search/search-index.ts';
export type {
  Change,
  Collection,
  Condition,
  Documents,
  Filter,
  FindOptions,
  OutboxEvent,
  Page,
  Publish,
  Store,
  StoreLog,
  StoreOptions,
} from './port/store.ts';
