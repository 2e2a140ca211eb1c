import { findSystemBinary } from '../processes/system-binary.ts';

let found: Promise<string> | undefined;

/** Where a redis-server is: on the PATH, or as the system's package, if it may be installed. */
export function findRedisServer(): Promise<string> {
  return (found ??= findSystemBinary({ names: ['redis-server'], debianPackage: 'redis-server' }));
}
