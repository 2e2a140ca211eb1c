export { MAX_TTL_MS, MAX_VALUE_BYTES, type Cache, type Key, type Rate } from './port/cache.ts';
export { isRedisUrl, openCache } from './open-cache.ts';
export { expire, createWindow as newWindow, record, take, type Window } from './port/sliding-window.ts';
